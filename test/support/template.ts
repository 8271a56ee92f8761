/** The migrated database that every test's database is a copy of. */
export const TEMPLATE = 'crier_template'
