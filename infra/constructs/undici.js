// The part of undici that the functions use. Its index.js also loads fetch, WebSocket, caches and mocks: 40 ms of a cold start.
// The paths are relative because bundle.ts replaces every import of undici by this file. If undici moves a file, or a function
// imports anything else from it, the bundling fails.
import request from '../../node_modules/undici/lib/api/api-request.js';
import Dispatcher from '../../node_modules/undici/lib/dispatcher/dispatcher.js';

export { default as buildConnector } from '../../node_modules/undici/lib/core/connect.js';
export { default as Agent } from '../../node_modules/undici/lib/dispatcher/agent.js';

// index.js adds all methods of its API in the same way.
Dispatcher.prototype.request = request;
