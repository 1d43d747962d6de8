"""Running ``manage.py documents`` inside the test's own process."""

from io import StringIO

from django.core.management import CommandError, call_command


class Output(StringIO):
    """What a command prints, and how it ended."""

    status = 0

    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()


def documents(*arguments: str, terminal: bool = False) -> tuple[Output, Output]:
    out, err = Output(), Output()
    err.isatty = lambda: terminal  # type: ignore[method-assign]
    try:
        call_command("documents", *arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        out.status = int(ended.code or 0)
    except CommandError as error:
        err.write(str(error))
        out.status = error.returncode
    return out, err
