import { reportWords, type ReportLanguageName } from './language.ts'
import type { ReportChart, ReportTable } from './model.ts'

/** The numbers of a chart. */
export function chartTable({ labels, series, title }: ReportChart, language: ReportLanguageName): ReportTable {
  const { number, say } = reportWords(language)
  const rows = labels.map((label, index) => [
    label,
    ...series.map(({ values }) => {
      const value = values[index] ?? null
      return value === null ? say('noReport') : number(value)
    }),
  ])
  return { title, columns: [say('from'), ...series.map(({ name }) => name)], rows }
}
