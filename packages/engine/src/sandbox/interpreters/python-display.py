# What a cell shows in more forms than text: values with the methods that notebooks know, tables and figures.
# Each is a line of JSON after the mark of the cell, on standard output: {"display": {"main": ..., "data": {MIME type: text}}}.
import base64, json, os, sys

state = {"mark": ""}

FORMS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}


def display(*values, **options):
    for value in values:
        show({"text/plain": repr(value), **forms_of(value, repr(value))}, main=False)


def show(data, main):
    if not data:
        return
    # What was printed before must come before.
    flush(sys.stdout)
    line = json.dumps({"display": {"main": main, "data": data}})
    write_all(1, f"\x1e{state['mark']}{line}\n".encode())


def forms_of(value, text):
    """All forms of a value beside plain text; none when it has no other."""
    if isinstance(value, type):
        return {}
    data = {}
    bundle = call(value, "_repr_mimebundle_")
    for mime, form in (bundle[0] if isinstance(bundle, tuple) else bundle or {}).items():
        add_form(data, mime, form)
    for method, mime in FORMS.items():
        if mime not in data:
            add_form(data, mime, call(value, method))
    if figure_of(value) is not None:
        data.update(figure_forms(value))
        sys.modules["matplotlib.pyplot"].close(value)
    table = table_of(value)
    if table is not None:
        data["application/vnd.hearth.table+json"] = table
    if isinstance(value, (list, dict)):
        add_json(data, value)
    return {"text/plain": text, **data} if data else {}


def call(value, method):
    try:
        return getattr(value, method)()
    except Exception:
        return None  # It has no such form, or only under conditions that do not hold.


def add_form(data, mime, form):
    if isinstance(form, tuple):
        form = form[0]  # The second part is metadata for a notebook.
    if form is None:
        return
    if isinstance(form, bytes):
        data[mime] = base64.b64encode(form).decode()
    else:
        data[mime] = form if isinstance(form, str) else json.dumps(form, default=str)


def add_json(data, value):
    """Lists and dictionaries that are JSON as they are, beside what numbers of numpy are."""
    try:
        data["application/json"] = json.dumps(value, default=lambda part: part.item(), allow_nan=False)
    except Exception:
        pass


def table_of(value):
    """The columns of a pandas data frame as lists."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.DataFrame):
        return None
    try:
        return json.dumps({str(name): [plain(cell) for cell in value[name].array] for name in value.columns})
    except Exception:
        return None  # Columns of the same name, for example: then there is the HTML.


class Modules:
    """What programs import to show things where there is no notebook, made when it is imported."""

    def find_spec(self, name, path=None, target=None):
        if name not in MODULES and name not in FINISHED:
            return None
        from importlib.machinery import ModuleSpec, PathFinder

        installed = PathFinder.find_spec(name, path)
        if name not in (MODULES if installed is None else FINISHED):
            return installed
        return ModuleSpec(name, self, loader_state=installed, is_package=name == "IPython")

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name, installed = module.__name__, module.__spec__.loader_state
        if installed is None:
            MODULES[name](module)
        else:
            installed.loader.exec_module(module)
        if name in FINISHED:
            FINISHED[name](module)


def fill_figures(module):
    """A backend of matplotlib that shows figures where the cell shows everything else."""
    from matplotlib.backends import backend_agg

    module.FigureCanvas = backend_agg.FigureCanvasAgg
    module.FigureManager = backend_agg.FigureManagerBase
    module.show = lambda *values, **options: show_figures()


def fill_notebook(module):
    """This is none, and says so to who asks."""
    module.version_info = (8, 0, 0)
    module.get_ipython = lambda: None


def fill_notebook_display(module):
    module.clear_output = lambda *values, **options: None
    for name, method in NOTEBOOK_VALUES.items():
        setattr(module, name, notebook_value(name, method))


NOTEBOOK_VALUES = {
    "HTML": "_repr_html_",
    "Markdown": "_repr_markdown_",
    "SVG": "_repr_svg_",
    "Latex": "_repr_latex_",
    "Math": "_repr_latex_",
    "JSON": "_repr_json_",
    "Javascript": "_repr_javascript_",
    "Image": "_repr_png_",
}


def notebook_value(name, method):
    """A class whose values have one form beside text: what they were made of, or what is in the file that was named."""

    def create(self, data=None, filename=None, **options):
        if filename is None and isinstance(data, str) and name in ("Image", "SVG") and os.path.isfile(data):
            filename = data
        if filename is not None:
            with open(filename, "rb" if name == "Image" else "r") as file:
                data = file.read()
        self.data = data

    def shown(self):
        if name == "Image":
            return self.data if self.data[:4] == b"\x89PNG" else None
        return f"$\\displaystyle {self.data}$" if name == "Math" else self.data

    parts = {"__init__": create, method: shown, "__repr__": lambda self: f"<IPython.core.display.{name} object>"}
    if name == "Image":
        parts["_repr_jpeg_"] = lambda self: self.data if self.data[:2] == b"\xff\xd8" else None
    return type(name, (), parts)


class Viewer:
    """Shows an image here instead of in a window."""

    def show(self, image, **options):
        display(image)
        return True


# What is there where nothing of that name is installed.
MODULES = {
    "hearth_figures": fill_figures,
    "IPython": fill_notebook,
    "IPython.display": fill_notebook_display,
}
# What is changed in a module, also in one that is installed: that one would print what it is to show, or open a window.
FINISHED = {
    "IPython.display": lambda module: setattr(module, "display", display),
    "PIL.ImageShow": lambda module: module.register(Viewer(), -1),
}


def install_modules():
    sys.meta_path.insert(0, Modules())
    os.environ.setdefault("MPLBACKEND", "module://hearth_figures")


def show_figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        show({"text/plain": repr(figure), **figure_forms(figure)}, main=False)
        pyplot.close(figure)


def figure_of(value):
    figure = sys.modules.get("matplotlib.figure")
    return value if figure is not None and isinstance(value, figure.Figure) else None


def figure_forms(figure):
    import io

    image = io.BytesIO()
    figure.savefig(image, format="png", bbox_inches="tight")
    data = {"image/png": base64.b64encode(image.getvalue()).decode()}
    try:
        chart = chart_of(figure)
        if chart is not None:
            data["application/vnd.hearth.chart+json"] = json.dumps(chart)
    except Exception:
        pass  # It is drawn in a way that has no numbers to tell; the picture is there.
    return data


def flush(stream):
    try:
        stream.flush()
    except Exception:
        pass  # The cell may have closed or replaced it; its own output is its own business.


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]
