"""What goes wrong while measuring."""


class NotMeasured(Exception):
    """A figure can't be had; the message is one line that says why."""
