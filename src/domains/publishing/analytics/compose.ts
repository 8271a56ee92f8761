import type { Services } from '../../../core/services.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Foundation } from '../../../foundation.ts'
import { GuardedFetcher } from '../../../fetch/guarded-fetch.ts'
import { BestTimes } from './best-times/best-times.ts'
import { ReportBranding } from './branding/branding.ts'
import { AnalyticsCollector } from './collection/collector.ts'
import { AnalyticsActions } from './collection/actions.ts'
import { ContentPictures, findContentPictures } from './collection/pictures.ts'
import { addJustPublished } from './collection/store.ts'
import { CollectionWatch } from './collection/watch.ts'
import { AccountAudiences } from './reads/audience.ts'
import { ContentRecords } from './reads/content.ts'
import { ReportCatalogue } from './reads/report-data.ts'
import { AnalyticsTimeSeries } from './reads/series.ts'
import { PlatformStatistics } from './reads/stats.ts'
import { WatchedAccounts } from './reads/watched.ts'
import { ReportPrinter } from './report/printer.ts'
import { Reports } from './report/reports.ts'
import { SamplePartitions } from './storage/partitions.ts'
import { SampleRecorder } from './storage/recorder.ts'
import { SampleRetention } from './storage/retention.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly analytics: ReturnType<typeof composeAnalytics>['services']['analytics']
  }
}

/** Builds the services of the domain. */
export function composeAnalytics(
  { clock, config, coordination, database: sql, jobs, log, mediaWork, scratch, storage }: Foundation,
  {
    approvals,
    assets,
    plans,
    publication,
    socialAccounts: { calls, directory },
  }: Pick<Services, 'approvals' | 'assets' | 'plans' | 'publication' | 'socialAccounts'>,
) {
  const partitions = new SamplePartitions(clock)
  const stopForgetting = coordination.onRecovered(() => partitions.forget())
  const retention = new SampleRetention({ sql, clock, log, jobs, plans, partitions })
  const recorder = new SampleRecorder(clock, partitions)
  assets.housekeeping.keep(findContentPictures)
  publication.outcomes.onPublished((turn, published) => addJustPublished(turn, published, clock.now()))
  const fetcher = GuardedFetcher.of(config.ALLOW_PRIVATE_ADDRESSES)
  const pictures = new ContentPictures({ sql, clock, log, fetcher, mediaWork, scratch, storage })
  const watched = new WatchedAccounts(sql, clock, directory)
  const stats = new PlatformStatistics(sql, clock, watched)
  const series = new AnalyticsTimeSeries(sql, clock, watched)
  const content = new ContentRecords(sql, clock, watched)
  const audiences = new AccountAudiences(sql, watched)
  const printer = new ReportPrinter()
  const branding = new ReportBranding(sql, clock, storage, config.REPORT_DOMAINS)
  approvals.brands.provide((workspaceId) => branding.pageBrandOf(workspaceId))
  const watch = new CollectionWatch(clock, jobs, config.ANALYTICS_SCHEDULE)
  return {
    services: {
      analytics: {
        recorder,
        retention,
        watch,
        collector: new AnalyticsCollector({ sql, clock, calls, recorder, pictures }),
        actions: new AnalyticsActions(clock, (turn) => new WatchedAccounts(turn.sql, clock, directory), watch),
        stats,
        series,
        content,
        reports: new Reports({ sql, clock, stats, series, content, audiences, watched, branding, printer, storage }),
        bestTimes: new BestTimes({ sql, clock, watched, audiences, printer }),
        audiences,
        branding,
        catalogue: new ReportCatalogue(sql, watched, retention),
        preparePartitions: (on: Sql) => partitions.prepare(on),
      },
    },
    close: () => {
      stopForgetting()
      return printer.close()
    },
    start: () => sql.transaction((tx) => partitions.prepare(tx)),
  }
}
