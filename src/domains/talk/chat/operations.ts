/** Chat, by what its operations are about. */
export * from './channel-operations.ts'
export * from './message-operations.ts'
export * from './attachment-operations.ts'
