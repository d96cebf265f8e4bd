# Runs cells in one shell. A request is a line on standard input: the mark, a space, the code in base64.
# The cell's own output goes straight to standard output and error; the mark ends it on both.
exec {__hearth_requests}<&0 </dev/null
while IFS=' ' read -r -u "$__hearth_requests" __hearth_mark __hearth_code; do
  eval "$(printf '%s' "$__hearth_code" | base64 -d)"
  __hearth_status=$?
  printf '\036%s\n' "$__hearth_mark" >&2
  if [ "$__hearth_status" -eq 0 ]; then
    printf '\036%s{"text":null,"error":null}\n' "$__hearth_mark"
  else
    printf '\036%s{"text":null,"error":{"name":"ExitStatus","message":"%d","traceback":""}}\n' "$__hearth_mark" "$__hearth_status"
  fi
done
