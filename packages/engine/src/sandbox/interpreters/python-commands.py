# What notebooks know beside Python: a cell that is indented, lines that are commands of the shell or of the notebook.
import ast, re

SHELL = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


def without_indent(code):
    """The indent of the first line is taken from all: cells are often written inside of another program."""
    first = next((line for line in code.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    if not indent:
        return code
    return "\n".join(line[len(indent):] if line.startswith(indent) else line for line in code.split("\n"))


def parse(code, name):
    """Only a line that Python does not understand can be a command."""
    if code.startswith("%%"):
        first, _, rest = code.partition("\n")
        code = f"\n_hearth_command({first!r}, {rest!r})"
    lines = code.split("\n")
    while True:
        try:
            return ast.parse("\n".join(lines), name)
        except SyntaxError as error:
            number = (error.lineno or 1) - 1
            found = re.match(r"(\s*)([!%].*)", lines[number]) if number < len(lines) else None
            if found is None:
                raise
            lines[number] = f"{found[1]}_hearth_command({found[2].strip()!r})"


def command(line, rest=""):
    flush(sys.stdout)
    flush(sys.stderr)
    name, _, given = line.partition(" ")
    if name in ("%%bash", "%%sh"):
        shell(rest)
    elif line.startswith("!"):
        shell(line.lstrip("!"))
    elif name == "%pip":
        shell(f"{sys.executable or 'python3'} -m pip {given}")
    elif name == "%cd":
        os.chdir(os.path.expanduser(given.strip() or "~"))
    elif name != "%matplotlib":  # Figures are always shown in line.
        raise NameError(f"there is no command {name}: there are !command, %pip, %cd, %matplotlib and %%bash")


def shell(text):
    import subprocess

    subprocess.run([SHELL, "-c", text])
