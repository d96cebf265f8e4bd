# Runs cells in one namespace. A request is a line of JSON on standard input: {"mark": ..., "code": ...}.
# The cell's own output goes straight to standard output and error; the mark ends it on both.
import ast, linecache, traceback


def main():
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.argv = [""]
    namespace = {"__name__": "__main__", "__builtins__": __builtins__, "display": display, "_hearth_command": command}
    install_modules()
    for number, line in enumerate(requests, 1):
        request = json.loads(line)
        state["mark"] = request["mark"]
        if request["copied"]:
            renew_randomness()
        answer = run(request["code"], f"<cell {number}>", namespace)
        flush(sys.stdout)
        flush(sys.stderr)
        os.write(2, f"\x1e{request['mark']}\n".encode())
        write_all(1, f"\x1e{request['mark']}{json.dumps(answer)}\n".encode())


def renew_randomness():
    # Another copy of this process would otherwise draw the same numbers.
    for module, name in (("random", "random"), ("numpy", "numpy.random")):
        try:
            if module in sys.modules:
                sys.modules[name].seed()
        except Exception:
            pass  # It is not the module that one takes it for.


def run(code, name, namespace):
    code = without_indent(code)
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        tree = parse(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        evaluate(compile(tree, name, "exec", flags), namespace)
        value = None if last is None else evaluate(compile(last, name, "eval", flags), namespace)
        text = None if value is None else repr(value)
        if value is not None:
            show(forms_of(value, text), main=True)
        show_figures()
        return {"text": text, "error": None}
    except BaseException as error:
        text = "".join(traceback.format_exception(type(error), error, hide_driver(error.__traceback__)))
        return {"text": None, "error": {"name": type(error).__name__, "message": str(error), "traceback": text}}


def evaluate(code, namespace):
    import inspect

    result = eval(code, namespace)
    if code.co_flags & inspect.CO_COROUTINE:
        import asyncio

        if "loop" not in state:
            state["loop"] = asyncio.new_event_loop()
        return state["loop"].run_until_complete(result)
    return result


def hide_driver(trace):
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
        trace = trace.tb_next
    return trace


main()
