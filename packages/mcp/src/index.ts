/** Sandboxes of Hearth as tools of the Model Context Protocol. */
export { httpServer, type HttpOptions } from './http.ts'
export { CLIENTS, configurationFor, type Client, type Configuration, type Launch } from './install/configuration.ts'
export { makeServer } from './server.ts'
export { Session, type SessionOptions } from './session.ts'
