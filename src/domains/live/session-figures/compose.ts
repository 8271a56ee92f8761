import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { liveSection } from './report.ts'
import { SessionFigures } from './series.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly sessionFigures: ReturnType<typeof composeSessionFigures>['services']['sessionFigures']
  }
}

/** Builds the service of the domain, and adds live streams to reports. */
export function composeSessionFigures(
  { clock, database }: Foundation,
  { analytics }: Pick<Services, 'analytics' | 'streams'>,
) {
  const series = new SessionFigures(database, clock)
  analytics.reports.sections.add(liveSection(database, series))
  return { services: { sessionFigures: { series } } }
}
