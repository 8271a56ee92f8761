/** Why an input was refused. The caller puts `field` into the path of the error that it sends. */
export interface Problem {
  /** The field of the input, such as `scheduledFor`. */
  readonly field: string
  /** A stable word for programs. */
  readonly code: string
  /** What is wrong and what to write instead. */
  readonly message: string
}

export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem }

export function accepted<T>(value: T): Outcome<T> {
  return { ok: true, value }
}

export function refused(field: string, code: string, message: string): { ok: false; problem: Problem } {
  return { ok: false, problem: { field, code, message } }
}
