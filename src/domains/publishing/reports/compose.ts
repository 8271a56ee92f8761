import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { ReportCourier } from './courier.ts'
import { moveReportSchedules } from './jobs.ts'
import { ReportLinks } from './links.ts'
import { ReportMaker } from './maker.ts'
import { ReportRecipients } from './recipients.ts'
import { findReportFiles, ReportFiles } from './report-files.ts'
import { ReportSchedules } from './schedules.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly reports: ReturnType<typeof composeReports>['services']['reports']
  }
}

/** Builds the services of the domain. */
export function composeReports(
  foundation: Foundation,
  {
    analytics,
    assets,
    chat,
    plans,
    workspaces,
  }: Pick<Services, 'analytics' | 'assets' | 'chat' | 'plans' | 'workspaces'>,
) {
  const { config, database, jobs, log, onPublished, secret } = foundation
  assets.housekeeping.keep(findReportFiles)
  onPublished((workspaceId, events) => {
    if (!events.some(({ type }) => type === 'workspace.updated')) return
    jobs.add(database, moveReportSchedules, {}, { workspaceId, key: workspaceId }).catch((error: unknown) => {
      log.warn({ workspaceId, error }, 'schedules of reports keep their zone until their next time')
    })
  })
  const { branding } = analytics
  const links = new ReportLinks(secret, config.PUBLIC_URL)
  const files = new ReportFiles(foundation, analytics)
  const recipients = new ReportRecipients(foundation, { links, branding })
  return {
    services: {
      reports: {
        files,
        links,
        recipients,
        schedules: new ReportSchedules(foundation, { analytics, plans, recipients, files }),
        maker: new ReportMaker(foundation, { analytics, workspaces }),
        courier: new ReportCourier(foundation, { chat, workspaces, links, files, branding }),
      },
    },
  }
}
