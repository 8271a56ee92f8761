import { NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { FILE } from '../../../core/reply.ts'
import { Envelope, ListOf } from '../../../core/schema.ts'
import { StorageUnavailable } from '../../../storage/errors.ts'
import { AppDetails, AppListQuery, AppPath, AppSummary, DownloadQuery, VersionPath } from './schemas.ts'

const slug = 'crier-desktop'

export const listApps = operation({
  route: 'GET /api/apps',
  summary: 'List apps',
  description: 'Listed apps with the latest version for each platform, newest first. Takes either `page` or `cursor`.',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  query: AppListQuery,
  returns: { 200: ListOf(AppSummary) },
  example: { query: { limit: 20 } },
  handle: ({ apps, query }) => apps.reader.list(query),
})

export const getApp = operation({
  route: 'GET /api/apps/{slug}',
  summary: 'Get an app with all its versions',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  path: AppPath,
  returns: { 200: Envelope(AppDetails) },
  errors: [NotFound],
  example: { path: { slug } },
  handle: ({ apps, path }) => apps.reader.get(path.slug),
})

export const downloadLatestApp = operation({
  route: 'GET /api/apps/{slug}/download',
  summary: 'Download the latest version of an app',
  description:
    'The highest stable version for the platform; a prerelease if there is no other. `Repr-Digest` and `X-Checksum-Sha256` have the SHA-256 of the whole file, also when a range is requested.',
  access: 'public',
  path: AppPath,
  query: DownloadQuery,
  headers: ['Cache-Control', 'Repr-Digest', 'X-Checksum-Sha256'],
  returns: { 200: FILE },
  errors: [NotFound, StorageUnavailable],
  example: { path: { slug }, query: { platform: 'linux' } },
  handle: async ({ apps, path, query }) => apps.reader.downloadLatest(path.slug, query.platform),
})

export const downloadAppVersion = operation({
  route: 'GET /api/apps/{slug}/versions/{version}/download',
  summary: 'Download a version of an app',
  description: 'With the same headers as the download of the latest version.',
  access: 'public',
  path: VersionPath,
  query: DownloadQuery,
  headers: ['Cache-Control', 'Repr-Digest', 'X-Checksum-Sha256'],
  returns: { 200: FILE },
  errors: [NotFound, StorageUnavailable],
  example: { path: { slug, version: '1.4.0' }, query: { platform: 'linux' } },
  handle: async ({ apps, path, query }) => apps.reader.download(path.slug, path.version, query.platform),
})
