/**
 * The name at which a sandbox finds the Hearth that it lives in, when it was made with `delegate`. For every other sandbox it does not
 * exist, whatever its policy says. Plain HTTP: the bytes go through the link of the sandbox and nowhere else.
 */
export const OWN_HEARTH_NAME = 'hearth.internal'
export const OWN_HEARTH_PORT = 80

/**
 * What clients inside send as their key. It is the same for all and opens nothing: the server knows by the connection which sandbox speaks, and
 * the key of that sandbox exists nowhere as a value. It is asked for so that no web page in a browser inside can call without knowing.
 */
export const OWN_HEARTH_KEY = 'hearth-key-of-this-sandbox'

/** What makes clients inside use it, as they are. */
export const OWN_HEARTH_ENVIRONMENT = {
  HEARTH_URL: `http://${OWN_HEARTH_NAME}`,
  HEARTH_API_KEY: OWN_HEARTH_KEY,
} as const satisfies Readonly<Record<string, string>>
