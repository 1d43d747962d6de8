"""Reading documents: a file goes in, findings come out. No ORM, no storage, no Django.

Parsers are hostile ground, so they run in a child process: ``runner`` starts it, ``child`` is what it runs,
``confinement`` are the limits it puts on itself, ``pdf``, ``office_xml`` and their like read (``media_types`` says
which reads what), ``events`` is what it says, ``findings`` what becomes of it. Nothing is imported here: the child
loads its parsers only when its limits stand.
"""
