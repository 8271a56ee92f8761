/** The operations of ideas, by topic. */
export * from './board-operations.ts'
export * from './idea-operations.ts'
export * from './comment-operations.ts'
