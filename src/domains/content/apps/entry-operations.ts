import { EXAMPLE } from '../../../core/example-ids.ts'
import { Conflict, NotFound, PreconditionFailed } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import {
  AppChanges,
  AppEntry,
  AppEntryPath,
  AppReleaseView,
  MAX_APP_BYTES,
  NewApp,
  NewRelease,
  ReleasePath,
} from './schemas.ts'

const path = { id: EXAMPLE.appId }

export const listAppEntries = operation({
  route: 'GET /api/apps/entries',
  summary: 'List all apps, also those that are not listed',
  access: 'admin',
  query: PageQuery,
  returns: { 200: ListOf(AppEntry) },
  example: { query: { limit: 20 } },
  handle: async ({ apps, query }) => list('Apps', await apps.entries.list(query)),
})

export const createApp = operation({
  route: 'POST /api/apps/entries',
  summary: 'Add an app',
  description: 'Everyone sees it at once unless `listed` is false.',
  access: 'admin',
  body: NewApp,
  returns: { 201: Envelope(AppEntry) },
  errors: [Conflict],
  example: { body: { slug: 'crier-desktop', name: 'Crier for desktops', description: 'Go live without a browser.' } },
  handle: async ({ apps, body }) => created('App added', await apps.entries.create(body)),
})

export const getAppEntry = operation({
  route: 'GET /api/apps/entries/{id}',
  summary: 'Get an app as it is edited',
  access: 'admin',
  etag: true,
  path: AppEntryPath,
  returns: { 200: Envelope(AppEntry) },
  errors: [NotFound],
  example: { path },
  handle: async ({ apps, path: { id } }) => ok('App', await apps.entries.get(id)),
})

export const updateApp = operation({
  route: 'PATCH /api/apps/entries/{id}',
  summary: 'Change an app',
  access: 'admin',
  etag: true,
  path: AppEntryPath,
  body: AppChanges,
  returns: { 200: Envelope(AppEntry) },
  errors: [NotFound, Conflict, PreconditionFailed],
  example: { path, body: { description: 'Go live from your desktop.' } },
  handle: async ({ apps, body, ifMatch, path: { id } }) =>
    ok('App changed', await apps.entries.update(id, body, ifMatch)),
})

export const deleteApp = operation({
  route: 'DELETE /api/apps/entries/{id}',
  summary: 'Delete an app with all its files',
  access: 'admin',
  path: AppEntryPath,
  returns: { 200: Done },
  errors: [NotFound, PreconditionFailed, StorageUnavailable],
  example: { path },
  handle: async ({ apps, ifMatch, path: { id } }) => {
    await apps.entries.delete(id, ifMatch)
    return done('App deleted')
  },
})

export const uploadAppVersion = operation({
  route: 'POST /api/apps/entries/{id}/versions',
  summary: 'Upload the file of a version of an app',
  description:
    'One file for each version and platform. With `publishedAt` in the future it becomes public at that time. Browsers always save the file and never open it.',
  access: 'admin',
  upload: { kind: 'multipart', maxBytes: MAX_APP_BYTES },
  path: AppEntryPath,
  body: NewRelease,
  returns: { 201: Envelope(AppReleaseView) },
  errors: [NotFound, Conflict, StorageFull, StorageUnavailable],
  example: { path, body: { version: '1.4.0', platform: 'linux', releaseNotes: 'Starts twice as fast.' } },
  handle: async ({ apps, body, path: { id }, upload }) =>
    created('Version uploaded', await apps.entries.addRelease(id, body, upload)),
})

export const deleteAppVersion = operation({
  route: 'DELETE /api/apps/entries/{id}/versions/{releaseId}',
  summary: 'Delete a version of an app',
  access: 'admin',
  path: ReleasePath,
  returns: { 200: Done },
  errors: [NotFound, StorageUnavailable],
  example: { path: { ...path, releaseId: EXAMPLE.appReleaseId } },
  handle: async ({ apps, path: { id, releaseId } }) => {
    await apps.entries.deleteRelease(id, releaseId)
    return done('Version deleted')
  },
})
