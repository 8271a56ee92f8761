import type { Static } from 'typebox'
import type { Clock } from '../../../core/clock.ts'
import type { ReadinessReport } from './schemas.ts'

/** Checks one dependency. Rejects when it does not work. @returns details for its entry in the report */
export type Probe = () => Promise<Readonly<Record<string, string | number | boolean>> | void>

/** A probe that takes longer has failed, so that readiness answers even if a dependency hangs. */
const PROBE_MS = 2_000

type Readiness = Static<typeof ReadinessReport>
type Checks = Readiness['checks']

/** The report for callers who are not administrators. Errors and figures would help an attacker. */
export function withoutDetails(report: Readiness): Readiness {
  const checks = Object.fromEntries(Object.entries(report.checks).map(([name, { ok }]) => [name, { ok }]))
  const { warnings: _, ...rest } = report
  return { ...rest, checks }
}

/** Liveness and readiness. Parts of the node register a probe for each dependency. */
export class HealthService {
  readonly #clock: Clock
  readonly #startedAt: number
  readonly #probes = new Map<string, Probe>()
  readonly #warnings: (() => Promise<readonly string[]>)[] = []
  readonly version: string
  #draining = false
  #asking: Promise<Pick<Readiness, 'checks' | 'warnings'>> | undefined

  constructor(clock: Clock, version: string) {
    this.#clock = clock
    this.#startedAt = clock.monotonic()
    this.version = version
  }

  register(name: string, probe: Probe): void {
    this.#probes.set(name, probe)
  }

  /** Adds to the warnings of the report, which do not make the node unready. */
  warnOf(find: () => Promise<readonly string[]>): void {
    this.#warnings.push(find)
  }

  /** Reports the node as not ready, because it is shutting down. */
  drain(): void {
    this.#draining = true
  }

  uptimeSeconds(): number {
    return Math.floor((this.#clock.monotonic() - this.#startedAt) / 1000)
  }

  /** Runs all probes. Concurrent calls share one run. */
  async readiness(): Promise<Readiness> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    const { checks, warnings } = await this.#asking
    const ready = !this.#draining && Object.values(checks).every(({ ok }) => ok)
    return { ready, draining: this.#draining, version: this.version, checks, ...(warnings && { warnings }) }
  }

  async #ask(): Promise<Pick<Readiness, 'checks' | 'warnings'>> {
    const probes = [...this.#probes].map(async ([name, probe]) => [name, await this.#run(probe)] as const)
    const [entries, texts] = await Promise.all([Promise.all(probes), Promise.all(this.#warnings.map((find) => find()))])
    const warnings = texts.flat()
    return { checks: Object.fromEntries(entries), ...(warnings.length > 0 && { warnings }) }
  }

  async #run(probe: Probe): Promise<Checks[string]> {
    const start = this.#clock.monotonic()
    let timer: NodeJS.Timeout | undefined
    try {
      const details = await Promise.race([
        probe(),
        new Promise<never>((_resolve, reject) => {
          timer = setTimeout(() => reject(new Error(`no answer within ${PROBE_MS} ms`)), PROBE_MS)
        }),
      ])
      return { ok: true, latencyMs: this.#since(start), ...(details ? { details } : {}) }
    } catch (error) {
      return { ok: false, latencyMs: this.#since(start), error: (error as Error).message }
    } finally {
      clearTimeout(timer)
    }
  }

  #since(start: number): number {
    return Math.round((this.#clock.monotonic() - start) * 100) / 100
  }
}
