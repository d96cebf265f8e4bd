# Runs cells in the global environment. A request is a line: the mark, a space, the code in hexadecimal digits.
# The cell's own output goes straight to standard output and error; the mark ends it on both.
local({
  Sys.setlocale("LC_ALL", "C.UTF-8")
  # It is passed on by a program of its own, since R opens no descriptors; an interrupt is for R alone.
  requests <- pipe("trap '' INT; exec cat <&3", "r")
  plots <- tempfile("plot-", fileext = "-%03d.png")

  json <- function(text) {
    text <- gsub("[\001-\010\013\014\016-\037\177]", " ", enc2utf8(paste(text, collapse = "\n")))
    for (pair in list(c("\\", "\\\\"), c("\"", "\\\""), c("\n", "\\n"), c("\r", "\\r"), c("\t", "\\t"))) {
      text <- gsub(pair[1], pair[2], text, fixed = TRUE)
    }
    paste0("\"", text, "\"")
  }
  say <- function(to, mark, text) {
    cat("\036", mark, text, "\n", sep = "", file = to)
    flush(to)
  }
  shown <- function(value) json(capture.output(print(value)))
  show <- function(mark, main, type, form) {
    say(stdout(), mark, paste0("{\"display\":{\"main\":", main, ",\"data\":{\"", type, "\":", form, "}}}"))
  }

  # What is drawn goes to files, and is shown when the cell has ended.
  draw <- function() if (capabilities("png")) grDevices::png(plots, width = 960, height = 640, res = 120, type = "cairo")
  options(device = draw)
  show_plots <- function(mark) {
    grDevices::graphics.off()
    for (path in Sys.glob(sub("%03d", "*", plots, fixed = TRUE))) {
      show(mark, "false", "image/png", json(paste(system2("base64", c("-w0", path), stdout = TRUE), collapse = "")))
      unlink(path)
    }
  }

  run <- function(mark, code) {
    text <- "null"
    cells <- parse(text = code, keep.source = FALSE)
    for (index in seq_along(cells)) {
      value <- withVisible(eval(cells[[index]], globalenv()))
      if (!value$visible) next
      if (index == length(cells)) text <- shown(value$value)
      else show(mark, "false", "text/plain", shown(value$value))
    }
    text
  }

  repeat {
    line <- readLines(requests, 1)
    if (length(line) == 0) break
    parts <- strsplit(line, " ", fixed = TRUE)[[1]]
    mark <- parts[1]
    digits <- if (length(parts) > 1) parts[2] else "20"
    starts <- seq(1, nchar(digits) - 1, by = 2)
    code <- rawToChar(as.raw(strtoi(substring(digits, starts, starts + 1), 16L)))
    Encoding(code) <- "UTF-8"
    answer <- tryCatch(
      withCallingHandlers(
        paste0("{\"text\":", run(mark, code), ",\"error\":null}"),
        warning = function(warning) {
          message("Warning message:\n", conditionMessage(warning))
          invokeRestart("muffleWarning")
        }
      ),
      interrupt = function(condition) "{\"text\":null,\"error\":{\"name\":\"Interrupt\",\"message\":\"interrupted\",\"traceback\":\"\"}}",
      error = function(error) {
        call <- paste(deparse(conditionCall(error)), collapse = " ")
        ours <- is.null(conditionCall(error)) || grepl("^(eval|parse)\\(", call)
        trace <- paste0("Error", if (ours) "" else paste0(" in ", call), ": ", conditionMessage(error))
        paste0("{\"text\":null,\"error\":{\"name\":\"Error\",\"message\":", json(conditionMessage(error)), ",\"traceback\":", json(trace), "}}")
      }
    )
    show_plots(mark)
    say(stderr(), mark, "")
    say(stdout(), mark, answer)
  }
})
