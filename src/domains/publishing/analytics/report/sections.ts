import type { Scope } from '../../../../core/scope.ts'
import type { ReportWords } from './language.ts'
import type { ReportChart, ReportTable } from './model.ts'

/** The span of a report, for domains that add to it. */
export interface ReportSpan {
  readonly workspaceId: string
  readonly zone: string
  readonly words: ReportWords
  /** Milliseconds since the epoch. */
  readonly start: number
  readonly end: number
  /** The days or weeks that its charts show. */
  readonly buckets: readonly { readonly label: string; readonly start: number; readonly end: number }[]
}

/** What a domain adds to a report. */
export interface ReportPart {
  readonly sentences: readonly string[]
  readonly charts: readonly ReportChart[]
  readonly tables: readonly ReportTable[]
  readonly gaps: readonly string[]
  readonly method: readonly (readonly [term: string, text: string])[]
}

/** A part of reports, for readers who have its scope. It is left out if there is nothing to show. */
export interface ReportSection {
  readonly scope: Scope
  readonly make: (span: ReportSpan) => Promise<ReportPart | undefined>
}

/** The parts that other domains add to reports. */
export class ReportSections {
  readonly #sections: ReportSection[] = []

  add(section: ReportSection): void {
    this.#sections.push(section)
  }

  /** The parts that a reader with these scopes may see. */
  async make(span: ReportSpan, scopes: ReadonlySet<Scope>): Promise<ReportPart[]> {
    const allowed = this.#sections.filter(({ scope }) => scopes.has(scope))
    const parts = await Promise.all(allowed.map((section) => section.make(span)))
    return parts.filter((part) => part !== undefined)
  }
}
