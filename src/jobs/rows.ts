import type { Static, TSchema } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { uuidv7 } from '../tools/id.ts'
import { FAIR_QUEUES, UnrecoverableError, type AnyJob, type JobDeclaration, type JobOptions } from '../core/job.ts'
import type { SealedBox } from '../tools/sealed-box.ts'
import { validator, type Validator } from '../core/validate.ts'
import type { NewRow } from '../db/row.ts'
import type { OutboxRow } from './tables.ts'

/** The line of jobs without a workspace. */
const NO_WORKSPACE = '00000000-0000-0000-0000-000000000000'

const MAX_BYTES = 256 * 1024

/** A job as it is inserted into the outbox. */
export type NewJob = NewRow<typeof OutboxRow>

/** Converts jobs to rows and back. Data is validated both ways, and encrypted if the job is `sealed`. */
export class JobRows {
  readonly #clock: Clock
  readonly #box: SealedBox
  readonly #validators = new Map<TSchema, Validator>()

  constructor(clock: Clock, box: SealedBox) {
    this.#clock = clock
    this.#box = box
  }

  /** @throws Error when the data does not match the schema, which is a mistake of the caller */
  make<S extends TSchema>(
    declared: JobDeclaration<S>,
    data: Static<S>,
    { runAt, key, workspaceId }: JobOptions & { readonly workspaceId?: string | undefined } = {},
  ): NewJob {
    const fault = this.#fault(declared, data)
    if (fault !== undefined) throw new Error(`the data of the job ${declared.name} ${fault}`)
    const text = JSON.stringify(data)
    if (Buffer.byteLength(text) > MAX_BYTES) throw new Error(`the data of the job ${declared.name} is too long`)
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    return {
      id: uuidv7(now),
      name: declared.name,
      queue: declared.queue,
      workspaceId: workspaceId ?? null,
      line: FAIR_QUEUES.includes(declared.queue) ? (workspaceId ?? NO_WORKSPACE) : null,
      key: key ?? null,
      data: declared.sealed ? { sealed: this.#box.seal(text) } : data,
      state: 'waiting',
      runAt: runAt === undefined ? at : runAt.toISOString(),
      attempts: 0,
      added: 0,
      createdAt: at,
      updatedAt: at,
    }
  }

  /** The data of a stored row, for `run`. @throws UnrecoverableError when this version cannot read it */
  read(declared: AnyJob, stored: unknown): unknown {
    const sealed = (stored as { sealed?: unknown } | null)?.sealed
    try {
      const data: unknown = declared.sealed && typeof sealed === 'string' ? JSON.parse(this.#box.open(sealed)) : stored
      const fault = this.#fault(declared, data)
      if (fault !== undefined) throw new UnrecoverableError(`the stored data ${fault}`)
      return data
    } catch (error) {
      throw error instanceof UnrecoverableError
        ? error
        : new UnrecoverableError((error as Error).message, { cause: error })
    }
  }

  #fault(declared: { readonly data: TSchema }, data: unknown): string | undefined {
    let check = this.#validators.get(declared.data)
    if (check === undefined) this.#validators.set(declared.data, (check = validator(declared.data, '')))
    const checked = check(data)
    if (checked.ok) return undefined
    return `is not valid: ${checked.errors.map(({ path, message }) => `${path || 'it'} ${message}`).join(', ')}`
  }
}
