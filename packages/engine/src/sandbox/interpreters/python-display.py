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


def table_of(value):
    """The columns of a pandas data frame as lists."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.DataFrame):
        return None
    try:
        column = lambda name: json.loads(value[name].to_json(orient="values", date_format="iso", default_handler=str))
        return json.dumps({str(name): column(name) for name in value.columns})
    except Exception:
        return None  # Columns of the same name, for example: then there is the HTML.


class Figures:
    """Finds the backend of matplotlib that shows figures where the cell shows everything else. Nothing is imported before it is used."""

    name = "hearth_figures"

    def find_spec(self, name, path=None, target=None):
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self) if name == self.name else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        from matplotlib.backends import backend_agg

        module.FigureCanvas = backend_agg.FigureCanvasAgg
        module.FigureManager = backend_agg.FigureManagerBase
        module.show = lambda *values, **options: show_figures()


def install_figures():
    sys.meta_path.append(Figures())
    os.environ.setdefault("MPLBACKEND", f"module://{Figures.name}")


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
        data["application/vnd.hearth.chart+json"] = json.dumps(chart_of(figure), default=str)
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
