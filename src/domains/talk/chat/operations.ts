/** The operations of chat, by topic. */
export * from './channel-operations.ts'
export * from './message-operations.ts'
export * from './attachment-operations.ts'
