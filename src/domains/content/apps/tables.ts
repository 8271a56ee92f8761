import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import type { AppPlatform } from './platforms.ts'

/** An app that can be downloaded. */
export const App = defineEntity({
  name: 'App',
  tableName: 'apps',
  properties: {
    id: p.uuid().primary(),
    slug: p.text().unique('apps_slug_key'),
    name: p.text(),
    description: p.text(),
    iconUrl: p.text().nullable(),
    listed: p.boolean(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** A version of an app for one platform. Its file is stored under `<app id>/<release id>`. */
export const AppRelease = defineEntity({
  name: 'AppRelease',
  tableName: 'app_releases',
  uniques: [{ name: 'app_releases_version_key', properties: ['appId', 'version', 'platform'] }],
  properties: {
    id: p.uuid().primary(),
    appId: references(App, { name: 'app_releases_app_id_fkey', onDelete: 'cascade' }),
    /** Semantic Versioning 2.0. */
    version: p.text(),
    platform: p.text().$type<AppPlatform>(),
    releaseNotes: p.text(),
    fileName: p.text(),
    size: p.bigint('number'),
    /** SHA-256 of the file, hexadecimal. */
    sha256: p.text(),
    publishedAt: timestamp(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const apps = table(App)
export const appReleases = table(AppRelease)
export type AppRow = Row<typeof App>
export type AppReleaseRow = Row<typeof AppRelease>
