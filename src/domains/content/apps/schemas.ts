import { numberedPageFields } from '../../../core/page-of-all.ts'
import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { APP_PLATFORMS } from './platforms.ts'

/** Largest file of an app, in bytes. */
export const MAX_APP_BYTES = 2_000_000_000

const Platform = OneOf(APP_PLATFORMS, { description: '`any` runs on all platforms' })
const Version = Text(5, 60, {
  pattern: '^(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)(?:-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?$',
  description: 'A semantic version such as 1.4.0 or 2.0.0-beta.1',
})
const WebUrl = Text(1, 2_000, { pattern: '^https?://[^\\s"<>]+$', description: 'An http or https URL' })

export const AppReleaseView = named(
  'AppRelease',
  Type.Object({
    ...ResourceBase,
    version: Type.String({ description: 'Semantic Versioning' }),
    platform: Platform,
    releaseNotes: Type.String({ description: 'What is new' }),
    fileName: Type.String(),
    size: Type.Integer({ description: 'Bytes' }),
    sha256: Type.String({ description: 'SHA-256 of the file, hexadecimal' }),
    downloadUrl: Type.String(),
    publishedAt: Timestamp,
  }),
)

const shown = {
  ...ResourceBase,
  slug: Type.String(),
  name: Type.String(),
  description: Type.String(),
  iconUrl: Nullable(Type.String()),
}
const latestVersion = Nullable(
  Type.String({ description: 'The newest stable version; a prerelease if there is no other' }),
)

export const AppSummary = named(
  'AppSummary',
  Type.Object({
    ...shown,
    latestVersion,
    latest: Type.Array(AppReleaseView, { description: 'The newest release for each platform' }),
  }),
)

export const AppDetails = named(
  'AppDetails',
  Type.Object({ ...shown, latestVersion, versions: Type.Array(AppReleaseView, { description: 'Newest first' }) }),
)

export const AppEntry = named(
  'AppEntry',
  Type.Object({
    ...shown,
    listed: Type.Boolean({ description: 'Whether everyone sees the app' }),
    versions: Type.Array(AppReleaseView, { description: 'Newest first, with those that are not public yet' }),
    version: Type.Integer(),
  }),
)

const fields = {
  slug: Text(1, 60, {
    pattern: '^(?!entries$)[a-z0-9]+(?:-[a-z0-9]+)*$',
    description: 'Lowercase letters, digits and single hyphens, but not `entries`',
  }),
  name: Text(1, 100),
  description: Text(0, 5_000),
  iconUrl: Nullable(WebUrl),
  listed: Type.Boolean(),
}

export const NewApp = Input({
  slug: fields.slug,
  name: fields.name,
  description: Type.Optional(fields.description),
  iconUrl: Type.Optional(fields.iconUrl),
  listed: Type.Optional(fields.listed),
})
export const AppChanges = Type.Partial(Input(fields), { additionalProperties: false, minProperties: 1 })

export const NewRelease = Input({
  version: Version,
  platform: Platform,
  releaseNotes: Type.Optional(Text(0, 20_000)),
  publishedAt: Type.Optional(InstantInput),
  sha256: Type.Optional(
    Text(64, 64, {
      pattern: '^[0-9a-f]{64}$',
      description: 'The SHA-256 of the file, as 64 hexadecimal digits in lowercase',
    }),
  ),
})

export const AppListQuery = Input(numberedPageFields)
export const AppPath = Input({ slug: Text(1, 60) })
export const AppEntryPath = Input({ id: Id })
export const ReleasePath = Input({ id: Id, releaseId: Id })
export const VersionPath = Input({ slug: Text(1, 60), version: Text(1, 60) })
export const DownloadQuery = Input({
  platform: Type.Optional(OneOf(APP_PLATFORMS, { description: 'Required if there are files for several platforms' })),
})

export type AppReleaseData = Static<typeof AppReleaseView>
export type AppSummaryData = Static<typeof AppSummary>
export type AppDetailsData = Static<typeof AppDetails>
export type AppEntryData = Static<typeof AppEntry>
export type NewAppData = Static<typeof NewApp>
export type AppChangesData = Static<typeof AppChanges>
export type NewReleaseData = Static<typeof NewRelease>
export type AppListQueryData = Static<typeof AppListQuery>
