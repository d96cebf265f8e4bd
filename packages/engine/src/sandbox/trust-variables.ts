/** Where the guest puts what the template trusts together with the authority of the sandbox. */
const TRUST_FILE = '/.hearth/certificates.crt'
/** The same as a key store of Java. */
const JAVA_TRUST = '-Djavax.net.ssl.trustStore=/.hearth/cacerts'

/** What makes programs read it that bring certificates of their own, or look for them elsewhere. */
const FILE_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    // OpenSSL, Python, Go, Ruby, wget.
    'SSL_CERT_FILE',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    // npm too.
    'NODE_EXTRA_CA_CERTS',
    'GIT_SSL_CAINFO',
    'PIP_CERT',
    'CARGO_HTTP_CAINFO',
    'AWS_CA_BUNDLE',
    'DENO_CERT',
  ].map((name) => [name, TRUST_FILE]),
)

/** Java has one variable for all that it shall be told; what a sandbox has in it stays. A virtual machine says on standard error that it reads it. */
export function trustVariables(environment: Readonly<Record<string, string>>): Record<string, string> {
  const options = environment['JAVA_TOOL_OPTIONS']
  return { ...FILE_VARIABLES, JAVA_TOOL_OPTIONS: options === undefined ? JAVA_TRUST : `${options} ${JAVA_TRUST}` }
}
