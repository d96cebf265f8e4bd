# The numbers behind a figure of matplotlib, so that a client can draw it in its own way.
import math, re

# Not labels that somebody has given.
UNNAMED = (("_child", "Line"), ("_container", "Group"))


def chart_of(figure):
    """None for a figure in which nothing was drawn."""
    charts = [axes_chart(axes) for axes in figure.axes]
    if not any(axes.has_data() for axes in figure.axes):
        return None
    if len(charts) == 1:
        return charts[0]
    title = figure._suptitle.get_text() if figure._suptitle else ""
    return {"type": "superchart", "title": title, "elements": charts}


def axes_chart(axes):
    """One kind of thing is drawn, or it is told to be unknown: half of the numbers would be wrong ones."""
    title = axes.get_title() or None
    for kind, found in (("pie", pie(axes)), ("box_and_whisker", boxes(axes)), ("bar", bars(axes))):
        if found is not None:
            elements, flat = found
            return {"type": kind, "title": title, "elements": elements, **({} if kind == "pie" else labels(axes, flat))}
    for kind, elements in (("line", lines(axes)), ("scatter", points(axes))):
        if elements:
            return {"type": kind, "title": title, "elements": elements, **labels(axes, False), **ticks("x", axes.xaxis), **ticks("y", axes.yaxis)}
    return {"type": "unknown", "title": title, "elements": []}


def drawn(axes):
    """Lines without those of a grid, patches, and all the rest."""
    rest = [*axes.collections, *axes.images]
    return [line for line in axes.get_lines() if not is_rule(line)], list(axes.patches), rest


def is_rule(line):
    """A straight line along an axis, from one end to the other."""
    x, y = list(line.get_xdata()), list(line.get_ydata())
    return len(x) == 2 and len(y) == 2 and (same(x[0], x[1]) or same(y[0], y[1]))


def same(one, other):
    try:
        return bool(one == other) or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    except (TypeError, ValueError):
        return False


def labels(axes, flat):
    """`flat`: what lies has its names on the other axis."""
    x_label, y_label = axes.get_xlabel() or None, axes.get_ylabel() or None
    if flat:
        x_label, y_label = y_label, x_label
    return {"x_label": x_label, "y_label": y_label, "x_unit": unit(x_label), "y_unit": unit(y_label)}


def unit(label):
    """What a label has in brackets."""
    found = re.search(r"\s\((?P<round>[^)]*)\)|\[(?P<square>[^\]]*)\]", label or "")
    return (found["round"] or found["square"] or None) if found else None


def ticks(name, axis):
    places = [float(place) for place in axis.get_ticklocs()]
    texts = [label.get_text() for label in axis.get_ticklabels()]
    if is_dates(axis):
        from matplotlib.dates import num2date

        return {f"{name}_ticks": [num2date(place).isoformat() for place in places], f"{name}_tick_labels": texts, f"{name}_scale": "datetime"}
    scale = axis.get_scale()
    named = len(places) > 0 and all(place == index and str(index) != text for index, (place, text) in enumerate(zip(places, texts)))
    return {f"{name}_ticks": places, f"{name}_tick_labels": texts, f"{name}_scale": "categorical" if scale == "linear" and named else scale}


def is_dates(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    return "Date" in type(converter).__name__


def plain(value):
    """JSON has no word for what is no number, and none for no time."""
    try:
        if value != value:
            return None
    except Exception:
        return None
    if type(value).__name__ == "datetime64":
        return str(value.astype("datetime64[s]"))
    if hasattr(value, "isoformat"):
        return value.isoformat()
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def name_of(artist):
    label = str(artist.get_label())
    for prefix, name in UNNAMED:
        if label.startswith(prefix):
            return f"{name} {label[len(prefix):]}"
    return label


def name_at(axis, where):
    """The text of the nearest tick, unless it only says its own place."""
    texts = [(abs(float(place) - where), float(place), label.get_text()) for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels())]
    if not texts:
        return f"{where:g}"
    _, place, text = min(texts)
    try:
        return f"{where:g}" if same(float(text.replace("\u2212", "-")), place) else text
    except ValueError:
        return text or f"{where:g}"


def lines(axes):
    found, patches, rest = drawn(axes)
    if patches or rest:
        return []
    return [
        {"label": name_of(line), "points": [[plain(x), plain(y)] for x, y in zip(line.get_xdata(), line.get_ydata())]}
        for line in found
    ]


def points(axes):
    from matplotlib.collections import PathCollection

    found, patches, rest = drawn(axes)
    if found or patches or not all(isinstance(one, PathCollection) for one in rest):
        return []
    return [{"label": str(one.get_label()), "points": [[plain(x), plain(y)] for x, y in one.get_offsets()]} for one in rest]


def bars(axes):
    from matplotlib.container import BarContainer
    from matplotlib.patches import Rectangle

    found, patches, rest = drawn(axes)
    groups = [container for container in axes.containers if isinstance(container, BarContainer)]
    if found or rest or not groups or not all(isinstance(patch, Rectangle) for patch in patches):
        return None
    flat = groups[0].orientation == "horizontal"
    elements = []
    for group in groups:
        for bar in group:
            where = bar.get_y() + bar.get_height() / 2 if flat else bar.get_x() + bar.get_width() / 2
            value = bar.get_width() if flat else bar.get_height()
            elements.append({"label": name_at(axes.yaxis if flat else axes.xaxis, where), "group": name_of(group), "value": plain(value)})
    return elements, flat


def pie(axes):
    from matplotlib.patches import Wedge

    found, patches, rest = drawn(axes)
    if found or rest or not patches or not all(isinstance(patch, Wedge) for patch in patches):
        return None
    # Six digits: more are not kept of the angles.
    angle = lambda wedge: float(f"{abs(wedge.theta2 - wedge.theta1):.6g}")
    return [{"label": str(wedge.get_label()), "angle": angle(wedge), "radius": float(wedge.r)} for wedge in patches], False


def boxes(axes):
    """Boxes are closed shapes, filled or not; the lines and points that belong to one are above it or below."""
    from matplotlib.patches import PathPatch

    if axes.collections or axes.images or not all(isinstance(patch, PathPatch) for patch in axes.patches):
        return None
    rest = [line.get_xydata() for line in axes.get_lines()]
    shapes = [patch.get_path().vertices for patch in axes.patches]
    if not shapes:
        shapes = [line for line in rest if is_closed(line)]
        rest = [line for line in rest if not is_closed(line)]
    if not shapes:
        return None
    flat = not any(is_whisker(line, shape) for shape in shapes for line in rest)
    if flat:
        shapes, rest = [shape[:, ::-1] for shape in shapes], [line[:, ::-1] for line in rest]
    found = [box(shape, rest, axes.yaxis if flat else axes.xaxis) for shape in shapes]
    return None if None in found else (found, flat)


def is_closed(line):
    return len(line) >= 5 and same(line[0][0], line[-1][0]) and same(line[0][1], line[-1][1])


def is_whisker(line, shape):
    """From the middle of an upright box upwards or downwards."""
    if len(line) != 2 or not same(line[0][0], line[1][0]):
        return False
    left, right, low, high = extent(shape)
    touches = any(same(float(y), edge) for y in line[:, 1] for edge in (low, high))
    return touches and abs(float(line[0][0]) - (left + right) / 2) < (right - left) * 0.01


def extent(shape):
    """The edges of a box; one with a notch has eleven corners, of which some may lie beyond them."""
    far = shape[5 if len(shape) > 10 else 2][1]
    low, high = sorted((float(shape[0][1]), float(far)))
    return float(shape[:, 0].min()), float(shape[:, 0].max()), low, high


def box(shape, rest, axis):
    left, right, low, high = extent(shape)
    mine = [line for line in rest if len(line) > 0 and left <= float(line[:, 0].min()) and float(line[:, 0].max()) <= right]
    level = lambda line: len(line) == 2 and same(line[0][1], line[1][1]) and not same(line[0][0], line[1][0])
    # The median is drawn after the caps, which lie on the edge of the box where a whisker has no length.
    medians = [float(line[0][1]) for line in mine if level(line) and low <= float(line[0][1]) <= high]
    whiskers = [float(y) for line in mine if is_whisker(line, shape) for y in line[:, 1]]
    if not medians or not whiskers:
        return None
    least, most = min([*whiskers, low]), max([*whiskers, high])
    upright = [line for line in mine if not level(line) and not is_whisker(line, shape)]
    return {
        "label": name_at(axis, (left + right) / 2),
        "min": least,
        "first_quartile": low,
        "median": medians[-1],
        "third_quartile": high,
        "max": most,
        "outliers": [float(y) for line in upright for y in line[:, 1] if not least <= float(y) <= most],
    }
