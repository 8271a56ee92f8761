import type { ReportLanguageName } from './language.ts'

/** A report as both of its forms show it: plain data that a thread makes pages of. Numbers are those of the API. */
export interface ReportModel {
  readonly language: ReportLanguageName
  readonly title: string
  readonly workspace: string
  /** The first and the last day: `YYYY-MM-DD`. */
  readonly from: string
  readonly to: string
  /** The days, as the report writes them. */
  readonly span: string
  readonly previousSpan: string
  readonly timezone: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly sentences: readonly string[]
  readonly charts: readonly ReportChart[]
  readonly tables: readonly ReportTable[]
  readonly posts: readonly ReportPost[]
  readonly gaps: readonly string[]
  readonly method: readonly (readonly [term: string, text: string])[]
  readonly brand: ReportBrand
}

/** How the report looks. Null: the look of Crier. */
export interface ReportBrand {
  /** `#rrggbb`. Can be too light for text. */
  readonly accentColor: string | null
  /** Shown instead of the name of the workspace. */
  readonly companyName: string | null
  /** A domain. */
  readonly website: string | null
  readonly footerText: string | null
  /** WebP in Base64. */
  readonly logo: string | null
}

/** A chart and its numbers. Values that are null are gaps. */
export interface ReportChart {
  readonly title: string
  readonly kind: 'line' | 'bar'
  /** What the chart shows, for people who do not see it. */
  readonly alt: string
  /** The days or weeks. */
  readonly labels: readonly string[]
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
}

export interface ReportTable {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export interface ReportPost {
  readonly text: string
  readonly where: string
  readonly published: string
  readonly url: string | null
  readonly figures: string
  /** A small picture: WebP in Base64. */
  readonly picture: string | null
}
