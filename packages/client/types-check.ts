/**
 * The route types of the package, which are written from schemas, equal those that TypeScript derives from the operations.
 * `npm run typecheck` builds the package and checks this file together with the repository. Nothing runs it.
 */
import type { OperationRoutes as DeclaredNames, Routes as Declared } from '../../src/sdk/routes.ts'
import type { OperationRoutes as WrittenNames, Routes as Written } from './dist/sdk/routes.js'

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

/** The parts of a route that differ: its path, query, body, file or replies. */
type Unlike<A, B> = {
  [Part in keyof A | keyof B]: Part extends keyof A & keyof B
    ? Same<A[Part], B[Part]> extends true
      ? never
      : Part
    : Part
}[keyof A | keyof B]

/** The routes that differ, with their parts. An error message shows them. */
type Differences<A, B> = {
  [Route in keyof A & keyof B]: Unlike<A[Route], B[Route]> extends never ? never : [Route, Unlike<A[Route], B[Route]>]
}[keyof A & keyof B]

type Missing = Exclude<keyof Declared, keyof Written> | Exclude<keyof Written, keyof Declared>

declare const missing: Missing
declare const differences: Differences<Declared, Written>
export const noneMissing: never = missing
export const noDifferences: never = differences
export const sameNames: Same<DeclaredNames, WrittenNames> = true
export const file: Same<Declared['GET /api/assets/{id}/file']['replies'][200], Uint8Array> = true
