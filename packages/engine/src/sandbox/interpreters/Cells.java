// Runs cells in one JShell. A request is a line: the mark, a space, the code in base64.
// The cell's own output goes straight to standard output and error; the mark ends it on both.
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import jdk.jshell.*;

public class Cells {
  public static void main(String[] arguments) throws Exception {
    var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    System.setIn(InputStream.nullInputStream());
    System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8));
    // Programs ask for what they are given as properties.
    System.getenv().forEach((name, value) -> { if (System.getProperty(name) == null) System.setProperty(name, value); });
    // Cells run in this very process: what they print needs no detour.
    try (var shell = JShell.builder().executionEngine("local").build()) {
      for (var name : List.of("java.io.*", "java.math.*", "java.net.*", "java.nio.file.*", "java.util.*", "java.util.concurrent.*",
          "java.util.function.*", "java.util.regex.*", "java.util.stream.*")) shell.eval("import " + name + ";");
      for (String line; (line = requests.readLine()) != null;) {
        var parts = line.split(" ", 2);
        var code = new String(Base64.getDecoder().decode(parts.length > 1 ? parts[1] : ""), StandardCharsets.UTF_8);
        var answer = run(shell, code);
        System.out.flush();
        System.err.print("\u001e" + parts[0] + "\n");
        System.err.flush();
        System.out.print("\u001e" + parts[0] + answer + "\n");
        System.out.flush();
      }
    }
    System.exit(0);
  }

  static String run(JShell shell, String code) {
    String text = null;
    for (var rest = code; !rest.isBlank();) {
      var next = shell.sourceCodeAnalysis().analyzeCompletion(rest);
      // What is not complete is said to be wrong by the compiler itself.
      var source = next.completeness().isComplete() ? next.source() : rest;
      rest = next.completeness().isComplete() ? next.remaining() : "";
      text = null;
      for (var event : shell.eval(source)) {
        if (event.causeSnippet() != null) continue;
        if (event.status() == Snippet.Status.REJECTED) return rejected(shell, event.snippet());
        if (event.exception() != null) return failed(event.exception());
        text = event.value();
      }
    }
    return "{\"text\":" + json(text == null || text.isEmpty() ? null : text) + ",\"error\":null}";
  }

  static String rejected(JShell shell, Snippet snippet) {
    var said = new StringJoiner("\n");
    shell.diagnostics(snippet).forEach(diagnostic -> said.add(diagnostic.getMessage(null)));
    return error("CompilationError", said.toString(), said + "\n" + snippet.source());
  }

  static String failed(JShellException exception) {
    var trace = new StringWriter();
    exception.printStackTrace(new PrintWriter(trace));
    var name = exception instanceof EvalException evaluated ? evaluated.getExceptionClassName() : exception.getClass().getName();
    return error(name, String.valueOf(exception.getMessage()), trace.toString());
  }

  static String error(String name, String message, String trace) {
    return "{\"text\":null,\"error\":{\"name\":" + json(name) + ",\"message\":" + json(message) + ",\"traceback\":" + json(trace) + "}}";
  }

  static String json(String text) {
    if (text == null) return "null";
    var quoted = new StringBuilder("\"");
    for (var character : text.toCharArray()) {
      if (character == '"' || character == '\\') quoted.append('\\').append(character);
      else if (character < ' ' || character > '~') quoted.append(String.format("\\u%04x", (int) character));
      else quoted.append(character);
    }
    return quoted.append('"').toString();
  }
}
