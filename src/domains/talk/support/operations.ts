/** The operations of support, by topic. */
export * from './ticket-operations.ts'
export * from './attachment-operations.ts'
export * from './canned-operations.ts'
export * from './mail-operations.ts'
