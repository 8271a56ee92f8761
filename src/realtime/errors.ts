import { defineError } from '../core/error.ts'

export const TooManyCalls = defineError({
  code: 'too_many_calls',
  status: 429,
  message: 'Too many calls of this socket wait for their answers.',
  cause: 'A socket may have 32 calls under way at a time.',
  fix: 'Wait for answers before calling again.',
})
export const TooManySockets = defineError({
  code: 'too_many_sockets',
  status: 429,
  message: 'You have too many open sockets.',
  cause: 'One user may have 50 sockets at a time on a node.',
  fix: 'Close sockets that are not used; share one between the parts of a program.',
})
export const WebSocketRequired = defineError({
  code: 'websocket_required',
  status: 426,
  message: 'Sockets are served over WebSocket alone: connect with transports: ["websocket"].',
  cause: 'The request polls, as socket.io clients do at first unless they are told otherwise.',
  fix: 'Give the client the option `transports: ["websocket"]`. For networks without WebSocket an administrator sets SOCKET_POLLING=1.',
})
