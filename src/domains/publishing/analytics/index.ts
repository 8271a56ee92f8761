/** What other domains use of analytics. */

export type { PlatformStatistics } from './reads/stats.ts'
export type { PlatformStatsData } from './schemas.ts'
export { reportLanguage, reportWords, type ReportLanguageName } from './report/language.ts'
export type { ReportWords } from './report/language.ts'
export type { ReportChart, ReportTable } from './report/model.ts'
export type { ReportPart, ReportSection, ReportSpan } from './report/sections.ts'
export { accountsField, ReportLanguage, spanFields } from './schemas.ts'
