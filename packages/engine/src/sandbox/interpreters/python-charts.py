# The numbers behind a figure of matplotlib, so that a client can draw it in its own way.


def chart_of(figure):
    charts = [axes_chart(axes) for axes in figure.axes]
    if len(charts) == 1:
        return charts[0]
    title = figure._suptitle.get_text() if figure._suptitle else ""
    return {"type": "superchart", "title": title, "elements": charts}


def axes_chart(axes):
    title = axes.get_title()
    for kind, elements_of in (("pie", pie), ("box_and_whisker", boxes), ("bar", bars), ("line", lines), ("scatter", points)):
        elements = elements_of(axes)
        if elements:
            chart = {"type": kind, "title": title, "elements": elements}
            return chart if kind == "pie" else {**chart, **labels(axes), **(ticks(axes) if kind in ("line", "scatter") else {})}
    return {"type": "unknown", "title": title, "elements": []}


def labels(axes):
    x_label, y_label = axes.get_xlabel() or None, axes.get_ylabel() or None
    return {"x_label": x_label, "y_label": y_label, "x_unit": unit(x_label), "y_unit": unit(y_label)}


def unit(label):
    """What a label has in brackets at its end."""
    text = (label or "").strip()
    for opening, closing in ("()", "[]"):
        if text.endswith(closing) and opening in text:
            return text[text.rindex(opening) + 1:-1]
    return None


def ticks(axes):
    found = {}
    for name, axis, scale in (("x", axes.xaxis, axes.get_xscale()), ("y", axes.yaxis, axes.get_yscale())):
        found[f"{name}_ticks"] = [float(tick) for tick in axis.get_ticklocs()]
        found[f"{name}_tick_labels"] = [label.get_text() for label in axis.get_ticklabels()]
        found[f"{name}_scale"] = scale
    return found


def plain(value):
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, (int, float, str)) else str(value)


def lines(axes):
    drawn = [line for line in axes.get_lines() if len(line.get_xdata()) > 0]
    return [
        {"label": str(line.get_label()), "points": [[plain(x), plain(y)] for x, y in zip(line.get_xdata(), line.get_ydata())]}
        for line in drawn
    ]


def points(axes):
    from matplotlib.collections import PathCollection

    drawn = [found for found in axes.collections if isinstance(found, PathCollection)]
    return [
        {"label": str(found.get_label()), "points": [[float(x), float(y)] for x, y in found.get_offsets()]} for found in drawn
    ]


def bars(axes):
    from matplotlib.container import BarContainer

    elements = []
    names = [label.get_text() for label in axes.get_xticklabels()]
    for container in axes.containers:
        if not isinstance(container, BarContainer):
            continue
        group = str(container.get_label())
        for index, bar in enumerate(container):
            flat = container.orientation == "horizontal"
            where = bar.get_y() + bar.get_height() / 2 if flat else bar.get_x() + bar.get_width() / 2
            name = names[index] if not flat and index < len(names) and names[index] else f"{where:g}"
            elements.append({"label": name, "group": group, "value": str(bar.get_width() if flat else bar.get_height())})
    return elements


def pie(axes):
    from matplotlib.patches import Wedge

    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    return [
        {"label": str(wedge.get_label()), "angle": abs(wedge.theta2 - wedge.theta1), "radius": float(wedge.r)} for wedge in wedges
    ]


def boxes(axes):
    """A box plot is five kinds of lines for each box, in the order in which matplotlib draws them."""
    drawn = axes.get_lines()
    shapes = [len(line.get_xdata()) for line in drawn]
    whole = 7 if len(drawn) % 7 == 0 else 6
    if not drawn or len(drawn) % whole != 0 or any(shapes[index] != 5 for index in range(0, len(drawn), whole)):
        return []
    names = [label.get_text() for label in axes.get_xticklabels()]
    return [box(drawn[index:index + whole], names, index // whole) for index in range(0, len(drawn), whole)]


def box(parts, names, number):
    # The box, two whiskers, two caps, the median, and outliers where they are drawn.
    heights = sorted({float(y) for y in parts[0].get_ydata()})
    return {
        "label": names[number] if number < len(names) else str(number + 1),
        "first_quartile": heights[0],
        "third_quartile": heights[-1],
        "min": float(min(parts[1].get_ydata())),
        "max": float(max(parts[2].get_ydata())),
        "median": float(parts[5].get_ydata()[0]),
        "outliers": [float(y) for y in parts[6].get_ydata()] if len(parts) == 7 else [],
    }
