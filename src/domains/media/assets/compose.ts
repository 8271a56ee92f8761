import type { Services } from '../../../core/services.ts'
import { GuardedFetcher } from '../../../fetch/guarded-fetch.ts'
import { Outgoing } from '../../../fetch/outgoing.ts'
import type { Foundation } from '../../../foundation.ts'
import { findPictures } from '../../identity/users/index.ts'
import { AssetUploads } from './asset-uploads.ts'
import { countsOfAssets } from './count-check.ts'
import { AssetDownloads } from './downloads.ts'
import { AssetExaminer } from './examiner.ts'
import { AssetFolders } from './folders.ts'
import { AssetHousekeeping } from './housekeeping.ts'
import { Intake } from './intake.ts'
import { AssetLibrary } from './library.ts'
import { PostFiles } from './post-media.ts'
import { Quota } from './quota.ts'
import { AssetReader } from './reader.ts'
import { RenditionMaker } from './rendition-maker.ts'
import { RenditionRequests } from './rendition-requests.ts'
import { AssetTags } from './tags.ts'
import { UploadFinishing } from './uploads/finishing.ts'
import { UploadProgress } from './uploads/progress.ts'
import { UploadSignatures } from './uploads/signature.ts'
import { Uploads } from './uploads/uploads.ts'
import { UrlImports } from './url-imports.ts'
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
  {
    planUses,
    plans,
    socialAccounts,
    workspaces: { counts, memberships },
  }: Pick<Services, 'planUses' | 'plans' | 'socialAccounts' | 'workspaces'>,
) {
  const { clock, config, coordination, database, links, storage } = foundation
  const { checkFitness } = foundation.media
  const uses = new AssetUses()
  const views = new AssetViews(links)
  const folders = new AssetFolders(database, clock, plans)
  const quota = new Quota(foundation, plans)
  const tags = new AssetTags(plans)
  const intake = new Intake(storage, clock)
  const previewSeconds = config.MEDIA_PREVIEW_SECONDS
  const renditions = new RenditionRequests({ ...foundation, planUses, quota, views, previewSeconds, checkFitness })
  const library = new AssetLibrary({ clock, folders, quota, tags, uses, views, renditions })
  const downloads = new AssetDownloads(database, storage, views)
  const uploads = new Uploads({
    ...foundation,
    quota,
    intake,
    folders,
    tags,
    plans,
    memberships,
    signatures: new UploadSignatures(foundation.secret),
    publicUrl: config.PUBLIC_URL,
    finishing: new UploadFinishing({ ...foundation, quota, intake }),
    progress: new UploadProgress(coordination, clock),
  })
  const assetUploads = new AssetUploads({ ...foundation, quota, intake, folders, library, uploads, views })
  const outgoing = Outgoing.of(config.ALLOW_PRIVATE_ADDRESSES)
  const housekeeping = new AssetHousekeeping(database, clock, storage)
  housekeeping.keep(findPictures)
  counts.register(countsOfAssets)
  const assets = {
    library,
    intake,
    quota,
    reader: new AssetReader({ ...foundation, downloads, quota, plans, uses, views }),
    folders,
    uses,
    assetUploads,
    urlImports: new UrlImports(outgoing, assetUploads),
    examiner: new AssetExaminer(foundation),
    renditions,
    renditionMaker: new RenditionMaker({ ...foundation, quota }),
    housekeeping,
    postFiles: new PostFiles(storage, links, config.PUBLIC_URL),
    uploads,
    urlCheck: new UrlCheck(GuardedFetcher.of(config.ALLOW_PRIVATE_ADDRESSES), (platform) =>
      socialAccounts.directory.limits({ platform }),
    ),
  }
  return {
    services: { assets },
    close: () => {
      outgoing.close()
      return Promise.resolve()
    },
  }
}
