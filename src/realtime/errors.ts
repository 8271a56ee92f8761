import { defineError } from '../core/error.ts'

export const TooManyCalls = defineError({
  code: 'too_many_calls',
  status: 429,
  message: 'Too many calls of this socket are in progress.',
  cause: 'A socket may have 32 calls in progress at a time.',
  fix: 'Wait for replies before you make more calls.',
})
export const TooManySockets = defineError({
  code: 'too_many_sockets',
  status: 429,
  message: 'You have too many open sockets.',
  cause: 'A user may have 50 open sockets on a node.',
  fix: 'Close unused sockets. Share one socket between the parts of a program.',
})
export const WebSocketRequired = defineError({
  code: 'websocket_required',
  status: 426,
  message: 'Sockets need WebSocket: connect with transports: ["websocket"].',
  cause: 'The request uses polling, which socket.io clients try first by default.',
  fix: 'Set the client option `transports: ["websocket"]`. For networks without WebSocket, an administrator can set SOCKET_POLLING=1.',
})
