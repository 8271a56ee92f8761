import { Baseline } from './0001-baseline.ts'

/** Migrations in order. A released migration never changes; later migrations change what it created. */
export const migrations = [{ name: '0001-baseline', class: Baseline }]
