import type { SourceFacts } from '../../../../media/work/transcode/fitness.ts'
import type { TranscodeSpec } from '../../../../media/work/transcode/spec.ts'
import type { MediaWork } from '../../../../media/work/types.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Memberships } from '../../../core/ports.ts'
import type { SignedLinks } from '../../../core/signed-links.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { Database } from '../../../db/database.ts'
import type { Searches } from '../../../db/searches.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { Storage } from '../../../storage/storage.ts'
import { GuardedFetcher } from '../../../fetch/guarded-fetch.ts'
import { UrlCheck } from './uploads/url-check.ts'
import { UploadFinishing } from './uploads/finishing.ts'
import { UploadProgress } from './uploads/progress.ts'
import { UploadSignatures } from './uploads/signature.ts'
import { Uploads } from './uploads/uploads.ts'
import { AssetUploads } from './asset-uploads.ts'
import { AssetDownloads } from './downloads.ts'
import { AssetExaminer } from './examiner.ts'
import { AssetFolders } from './folders.ts'
import { AssetHousekeeping, type FindFiles } from './housekeeping.ts'
import { Intake } from './intake.ts'
import { AssetLibrary } from './library.ts'
import { Quota } from './quota.ts'
import { AssetReader } from './reader.ts'
import { RenditionMaker } from './rendition-maker.ts'
import { Renditions } from './renditions.ts'
import { AssetTags } from './tags.ts'
import { AssetUses } from './uses.ts'
import { AssetViews } from './views.ts'

interface AssetsNeeds {
  readonly database: Database
  readonly clock: Clock
  readonly coordination: Coordination
  readonly links: SignedLinks
  readonly storage: Storage
  readonly plans: PlanService
  readonly turns: TurnRunner
  readonly memberships: Memberships
  readonly secret: string
  readonly publicUrl: string
  readonly allowPrivateAddresses: boolean
  readonly mediaWork: () => Promise<MediaWork>
  /** Videos at least so long get a preview by themselves; 0: none. */
  readonly previewSeconds: number
  /** @throws MediaWorkError for what cannot be made of such a file */
  readonly checkFitness: (spec: TranscodeSpec, source: SourceFacts) => void
  readonly searches: Searches
  /** Stored files of other domains, which housekeeping must keep. */
  readonly filesElsewhere: readonly FindFiles[]
  /** Folder for what is under way. */
  readonly tempDir: string
}

/** Builds the services of the media library and of uploads. */
export function composeAssets(needs: AssetsNeeds) {
  const { clock, database: sql, plans, storage, turns } = needs
  const uses = new AssetUses()
  const views = new AssetViews(needs.links)
  const folders = new AssetFolders(sql, clock, plans)
  const quota = new Quota(needs)
  const tags = new AssetTags(plans)
  const intake = new Intake(storage, clock)
  const { checkFitness, previewSeconds } = needs
  const renditions = new Renditions({ clock, storage, quota, views, previewSeconds, checkFitness })
  const library = new AssetLibrary({ clock, folders, quota, tags, uses, views, renditions })
  const downloads = new AssetDownloads(sql, storage, views)
  const signatures = new UploadSignatures(needs.secret)
  const uploads = new Uploads({
    sql,
    clock,
    storage,
    quota,
    intake,
    folders,
    tags,
    turns,
    plans,
    memberships: needs.memberships,
    signatures,
    publicUrl: needs.publicUrl,
    finishing: new UploadFinishing({ sql, clock, storage, quota, intake }),
    progress: new UploadProgress(needs.coordination, clock),
  })
  const fetcher = GuardedFetcher.of(needs.allowPrivateAddresses)
  return {
    assets: library,
    assetIntake: intake,
    assetQuota: quota,
    assetReader: new AssetReader({ sql, searches: needs.searches, downloads, quota, plans, uses, views }),
    assetFolders: folders,
    assetUses: uses,
    assetUploads: new AssetUploads({ sql, clock, quota, intake, folders, library, uploads, turns, views }),
    assetExaminer: new AssetExaminer({ sql, storage, turns, mediaWork: needs.mediaWork, tempDir: needs.tempDir }),
    renditions,
    renditionMaker: new RenditionMaker({ ...needs, sql, quota }),
    assetHousekeeping: new AssetHousekeeping(sql, clock, storage, needs.filesElsewhere),
    uploads,
    fetcher,
    urlCheck: new UrlCheck(fetcher),
  }
}
