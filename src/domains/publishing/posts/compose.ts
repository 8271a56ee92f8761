import type { Services } from '../../../core/services.ts'
import { Postman } from '../../../mail/postman.ts'
import { numberOf } from '../../../platforms/rules/limits.ts'
import { GuardedFetcher } from '../../../fetch/guarded-fetch.ts'
import type { Foundation } from '../../../foundation.ts'
import { Provided } from '../../../core/provided.ts'
import { PostActions } from './actions.ts'
import { AccountTargets } from './accounts/account-targets.ts'
import type { ApprovalGate } from './approval/gate.ts'
import { assetUses } from './asset-uses.ts'
import { AuthorSettings } from './author-settings.ts'
import { PostAuthor } from './author.ts'
import { PostBulkActions } from './bulk-changes/actions.ts'
import { BulkChanges } from './bulk-changes/changes.ts'
import { PostRestorer } from './bulk-changes/restorer.ts'
import { PostBatches } from './bulk/batches.ts'
import { PostExporter } from './bulk/exporter.ts'
import { PostImporter } from './bulk/importer.ts'
import { RoomPlanner } from './budgets/planner.ts'
import { countsOfPosts } from './counts.ts'
import { PostChecks } from './checks.ts'
import { PostComments } from './comments/comments.ts'
import { MediaFetcher } from './media-urls/fetched-media.ts'
import { PublicationClaims } from './publication/claims.ts'
import { PublicationEvidence } from './publication/evidence.ts'
import { SchedulerHeartbeat } from './publication/heartbeat.ts'
import { SchedulerAlerts } from './publication/scheduler-alerts.ts'
import { LEASE } from './publication/lease.ts'
import { PostFigures } from './numbers/analytics.ts'
import { PostMetrics } from './numbers/metrics.ts'
import { UpcomingPosts } from './numbers/upcoming.ts'
import type { ModelTexts } from './text-origin/model-texts.ts'
import { TextOrigins } from './text-origin/text-origins.ts'
import { GuardedLinkPages } from './link-cards/link-pages.ts'
import { shrinkWith } from './link-cards/shrink.ts'
import { MediaSources } from './publication/media-source.ts'
import { PublicationOutcomes } from './publication/outcomes.ts'
import { PublicationPace } from './publication/pace.ts'
import { PreparationDesk } from './publication/preparation/desk.ts'
import { Preparations } from './publication/preparation/finder.ts'
import { Preparer } from './publication/preparation/preparer.ts'
import { Publisher } from './publication/publisher.ts'
import { Settlement } from './publication/settlement.ts'
import { TargetWatchdog } from './publication/watchdog.ts'
import { NewPostTimes } from './new-post-times.ts'
import { planUse } from './plan-use.ts'
import { PostQuota } from './quota.ts'
import { PostReader } from './reader.ts'
import { PostBin } from './remote/bin.ts'
import { RemoteDesk } from './remote/desk.ts'
import { PostRemoval } from './remote/removal.ts'
import { RemoteWorker } from './remote/worker.ts'
import { PostValidation } from './validation.ts'
import { composeSeries } from './series/compose.ts'
import { zoneRules } from './calendar/zones.ts'
import { TimeMover } from './zones/mover.ts'
import { ZoneWatch } from './zones/watch.ts'
import { PostHistory } from './versions/history.ts'
import { SlotFinder } from './slots/finder.ts'
import { PostQueues } from './slots/queues.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly posts: ReturnType<typeof composePosts>['services']['posts']
    readonly modelTexts: ReturnType<typeof composePosts>['services']['modelTexts']
  }
}

/** Builds the services of posts. */
export function composePosts(
  { clock, config, database: sql, jobs, log, mediaWork, scratch, searches, turns }: Foundation,
  {
    assets,
    health,
    mailer,
    notifications,
    plans,
    socialAccounts,
    switches,
    workspaces,
  }: Pick<
    Services,
    'assets' | 'health' | 'mailer' | 'notifications' | 'plans' | 'socialAccounts' | 'switches' | 'workspaces'
  >,
) {
  workspaces.counts.register(countsOfPosts)
  const checks = new PostChecks(socialAccounts.directory)
  const approvals = new Provided<ApprovalGate>('approvals of posts')
  const queues = new PostQueues(sql, clock)
  const slots = new SlotFinder(sql, clock, queues)
  const room = new RoomPlanner(clock, checks, slots)
  const remoteDesk = new RemoteDesk(clock, socialAccounts.directory)
  const times = new NewPostTimes(room, slots)
  const settings = new AuthorSettings(checks)
  const quota = new PostQuota(plans, clock)
  const modelTexts = new Provided<ModelTexts>('texts of models')
  const origins = new TextOrigins(modelTexts, approvals)
  const author = new PostAuthor({
    clock,
    checks,
    times,
    room,
    approvals,
    origins,
    edits: remoteDesk,
    quota,
    settings,
  })
  const actions = new PostActions({ clock, author, checks, slots, room, approvals })
  const bulkChanges = new BulkChanges({
    sql,
    clock,
    restorer: new PostRestorer({ clock, author, checks, room, approvals }),
  })
  const reader = new PostReader(sql, searches)
  const validation = new PostValidation({ sql, clock, checks, times, settings, quota, origins })
  const { seriesRunner, seriesWatch, ...series } = composeSeries(
    { sql, clock, turns },
    { author, checks, origins, plans, room, settings, validation, workspaces },
  )
  const upcoming = new UpcomingPosts(sql, clock)
  assets.uses.register(assetUses)
  const media = new MediaSources(sql, assets.postFiles)
  const fetcher = GuardedFetcher.of(config.ALLOW_PRIVATE_ADDRESSES)
  const pages = new GuardedLinkPages(fetcher, shrinkWith({ mediaWork, scratch }))
  const publishes = { sql, clock, turns, calls: socialAccounts.calls, media, pages, times: LEASE }
  const { directory } = socialAccounts
  const pace = new PublicationPace(clock, (platform) => {
    const found = directory.find(platform)
    return found && numberOf(directory.limits(found), 'posts.perHour')
  })
  const alerts = new SchedulerAlerts({ database: sql, clock, log, mailer, notifications, postman: new Postman(jobs) })
  const heartbeat = new SchedulerHeartbeat({ sql, clock, log, alerts })
  // Requests are served without the scheduler, so it does not decide whether this node is ready.
  health.register('scheduler', () => heartbeat.look())
  socialAccounts.accounts.registerPosts(new AccountTargets(clock, approvals))
  socialAccounts.limits.registerUse(planUse)
  return {
    services: {
      /** Set by the domain of AI. */
      modelTexts,
      posts: {
        /** Set by the domain of approvals. */
        approvals,
        checks,
        validation,
        author,
        settings,
        actions,
        bulkActions: new PostBulkActions(actions, bulkChanges),
        bulkChanges,
        series,
        seriesRunner,
        seriesWatch,
        timeMover: new TimeMover(clock, author),
        zoneWatch: new ZoneWatch({ sql, clock, turns, rules: zoneRules, version: process.versions.tz ?? '' }),
        queues,
        mediaFetcher: new MediaFetcher(assets.urlImports, assets.urlCheck),
        importer: new PostImporter({ clock, author, checks, quota, settings, series: series.desk }),
        exporter: new PostExporter(reader),
        batches: new PostBatches(sql, clock),
        slots,
        reader,
        upcoming,
        metrics: new PostMetrics(sql, clock, upcoming),
        figures: new PostFigures({ sql, clock, ...socialAccounts }),
        remoteDesk,
        remoteWorker: new RemoteWorker(clock, turns, socialAccounts.calls),
        removal: new PostRemoval(clock, actions, remoteDesk),
        bin: new PostBin(sql, clock),
        history: new PostHistory(sql, author),
        comments: new PostComments(sql, clock),
        claims: new PublicationClaims({ clock, switches, times: LEASE, approvals, pace }),
        outcomes: new PublicationOutcomes(clock),
        publisher: new Publisher({ ...publishes, switches }),
        preparationDesk: new PreparationDesk({ clock, switches, times: LEASE, approvals }),
        preparer: new Preparer(publishes),
        preparations: new Preparations(sql, clock, jobs),
        evidence: new PublicationEvidence(sql),
        settlement: new Settlement(clock),
        watchdog: new TargetWatchdog({ sql, clock, jobs, heartbeat }),
        heartbeat,
      },
    },
    start: () => {
      heartbeat.start()
      return Promise.resolve()
    },
    close: () => {
      heartbeat.close()
      return Promise.resolve()
    },
  }
}
