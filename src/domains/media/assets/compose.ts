import type { Services } from '../../../core/services.ts'
import { GuardedFetcher } from '../../../fetch/guarded-fetch.ts'
import type { Foundation } from '../../../foundation.ts'
import { findPictures } from '../../identity/users/index.ts'
import { AssetUploads } from './asset-uploads.ts'
import { AssetDownloads } from './downloads.ts'
import { AssetExaminer } from './examiner.ts'
import { AssetFolders } from './folders.ts'
import { AssetHousekeeping } from './housekeeping.ts'
import { Intake } from './intake.ts'
import { AssetLibrary } from './library.ts'
import { Quota } from './quota.ts'
import { AssetReader } from './reader.ts'
import { RenditionMaker } from './rendition-maker.ts'
import { RenditionRequests } from './rendition-requests.ts'
import { AssetTags } from './tags.ts'
import { UploadFinishing } from './uploads/finishing.ts'
import { UploadProgress } from './uploads/progress.ts'
import { UploadSignatures } from './uploads/signature.ts'
import { Uploads } from './uploads/uploads.ts'
import { UrlCheck } from './uploads/url-check.ts'
import { AssetUses } from './uses.ts'
import { AssetViews } from './views.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly assets: ReturnType<typeof composeAssets>['services']['assets']
  }
}

/** Builds the services of the media library and of uploads. */
export function composeAssets(
  foundation: Foundation,
  { plans, workspaces: { memberships } }: Pick<Services, 'plans' | 'workspaces'>,
) {
  const { clock, config, coordination, database: sql, links, mediaWork, scratch, searches, storage, turns } = foundation
  const { checkFitness } = foundation.media
  const uses = new AssetUses()
  const views = new AssetViews(links)
  const folders = new AssetFolders(sql, clock, plans)
  const quota = new Quota({ database: sql, clock, plans })
  const tags = new AssetTags(plans)
  const intake = new Intake(storage, clock)
  const previewSeconds = config.MEDIA_PREVIEW_SECONDS
  const renditions = new RenditionRequests({ clock, storage, quota, views, previewSeconds, checkFitness })
  const library = new AssetLibrary({ clock, folders, quota, tags, uses, views, renditions })
  const downloads = new AssetDownloads(sql, storage, views)
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
    memberships,
    signatures: new UploadSignatures(foundation.secret),
    publicUrl: config.PUBLIC_URL,
    finishing: new UploadFinishing({ sql, clock, storage, quota, intake }),
    progress: new UploadProgress(coordination, clock),
  })
  const housekeeping = new AssetHousekeeping(sql, clock, storage)
  housekeeping.keep(findPictures)
  const assets = {
    library,
    intake,
    quota,
    reader: new AssetReader({ sql, searches, downloads, quota, plans, uses, views }),
    folders,
    uses,
    assetUploads: new AssetUploads({ sql, clock, quota, intake, folders, library, uploads, turns, views }),
    examiner: new AssetExaminer({ sql, storage, turns, mediaWork, tempDir: scratch }),
    renditions,
    renditionMaker: new RenditionMaker({ sql, clock, storage, quota, turns, mediaWork, tempDir: scratch }),
    housekeeping,
    uploads,
    urlCheck: new UrlCheck(GuardedFetcher.of(config.ALLOW_PRIVATE_ADDRESSES)),
  }
  return { services: { assets } }
}
