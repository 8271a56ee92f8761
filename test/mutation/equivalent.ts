import type { Mutant } from './mutants.ts'

interface Equivalent {
  readonly file: string
  /** The line as it is in the source, without leading blanks. */
  readonly line: string
  readonly after: string
  /** Why no test can, or should, tell the mutant from the source. */
  readonly reason: string
}

/** Mutants that change nothing that matters. They are not counted. */
const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'src/turns/turn-executor.ts',
    line: 'if (row === undefined) throw new UnknownOutcomeError(OutcomeUnknown({ retryAfter: 2 }))',
    after: '(2 + 1)',
    reason: 'How many seconds a client should wait is a choice. Two or three are equally right.',
  },
]

/** Why a mutant is not counted; undefined for one that is. */
export function reasonOf({ file, after }: Mutant, line: string): string | undefined {
  return EQUIVALENT.find((one) => one.file === file && one.line === line && one.after === after)?.reason
}
