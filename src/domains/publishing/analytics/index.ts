/** What other domains use of analytics. */

export type { ReportChart, ReportTable } from './report/model.ts'
export type { ReportPart, ReportSection, ReportSpan } from './report/sections.ts'
