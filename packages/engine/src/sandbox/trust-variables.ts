/** Where the guest puts what the template trusts together with the authority of the sandbox. */
const TRUST_FILE = '/.hearth/certificates.crt'

/** What makes programs read it that bring certificates of their own, or look for them elsewhere. */
export const TRUST_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    // OpenSSL, Python, Go, Ruby, wget.
    'SSL_CERT_FILE',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    'NODE_EXTRA_CA_CERTS',
    'GIT_SSL_CAINFO',
    'PIP_CERT',
    'CARGO_HTTP_CAINFO',
    'AWS_CA_BUNDLE',
    'DENO_CERT',
  ].map((name) => [name, TRUST_FILE]),
)
