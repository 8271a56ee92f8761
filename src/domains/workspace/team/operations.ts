/** The section Team, by what its operations are about. */
export * from './member-operations.ts'
export * from './invitation-operations.ts'
export * from './role-operations.ts'
export * from './group-operations.ts'
