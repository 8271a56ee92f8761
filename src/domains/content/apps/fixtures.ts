import { Readable } from 'node:stream'
import { newName, times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as entryOperations from './entry-operations.ts'
import type * as operations from './operations.ts'

type Operations = typeof operations & typeof entryOperations

export const fixtures: Fixtures<Operations> = {
  getApp: async (stage) => ({ path: { slug: (await released(stage)).slug } }),
  downloadLatestApp: async (stage) => ({ path: { slug: (await released(stage)).slug } }),
  downloadAppVersion: async (stage) => ({ path: { slug: (await released(stage)).slug } }),
  createApp: async () => ({ body: { slug: newName('app'), name: 'Crier for desktops' } }),
  getAppEntry: async (stage) => ({ path: { id: (await released(stage))._id } }),
  updateApp: async (stage) => ({ path: { id: (await released(stage))._id } }),
  deleteApp: async (stage) => ({ path: { id: (await released(stage))._id } }),
  uploadAppVersion: async (stage) => ({ path: { id: (await app(stage))._id } }),
  deleteAppVersion: async (stage) => {
    const { _id: id, releaseId } = await released(stage)
    return { path: { id, releaseId } }
  },
}

export const lists: Lists<Operations> = {
  listApps: times(app),
  listAppEntries: times(app),
}

function app(stage: Stage) {
  return stage.app.composition.services.apps.entries.create({ slug: newName('app'), name: 'Crier for desktops' })
}

async function released(stage: Stage) {
  const made = await app(stage)
  const { entries } = stage.app.composition.services.apps
  const stream = Readable.from([Buffer.from('a program')])
  const upload = { stream, blocks: stream, name: 'crier.tar.gz', type: '', announced: undefined, contentRange: '' }
  const release = await entries.addRelease(
    made._id,
    { version: '1.4.0', platform: 'linux', releaseNotes: 'Faster.' },
    upload,
  )
  return { ...made, releaseId: release._id }
}
