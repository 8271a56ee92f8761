/** The exports of the package `crier-client`, which `packages/client` builds. */
export { ConnectionError, createClient, CrierError } from './client.ts'
export type {
  ApiRoute,
  ClientOptions,
  ClientReply,
  CrierClient,
  FileReply,
  FileRoute,
  ReplyOf,
  RequestOf,
  RequestSettings,
} from './client.ts'
export { SocketClient, SocketLostError } from './socket-client.ts'
export type {
  CallOptions,
  ChannelListener,
  ChannelView,
  Draft,
  OperationName,
  PendingMessage,
  SocketClientOptions,
} from './socket-client.ts'
export type { ChannelState } from '../domains/talk/chat/state.ts'
export type { EventsOptions, NumberedEvent } from './events.ts'
export type { FollowedChannel } from './channel.ts'
