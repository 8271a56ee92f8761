import { inWorkspace, make, newName, times, type Lists, type Rows, type Stage } from '../../../../test/support/stage.ts'
import { waitFor } from '../../../../test/support/wait.ts'
import type * as operations from './operations.ts'
import { studioRenders } from './tables.ts'

const projectData = { schemaVersion: 1, pages: [{ width: 1080, height: 1080, background: '#1b1b2f', layers: [] }] }

export const rows: Rows = { studio_projects: project, studio_renders: rendering }

export const lists: Lists<typeof operations> = {
  listStudioProjects: times(project),
  listStudioRenders: async (stage, count) => {
    const id = await project(stage)
    for (let asked = 0; asked < count; asked += 1) {
      // The same request would return a rendering that has not ended.
      await ended(stage, await ask(stage, id))
    }
    return { path: { id } }
  },
  listStudioVersions: async (stage, count) => {
    const id = await project(stage)
    for (let saved = 1; saved < count; saved += 1) await save(stage, id)
    return { path: { id } }
  },
}

function project(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/studio/projects', { ...inWorkspace(stage), name: newName('post'), projectData })
}

async function save({ app, owner }: Stage, id: string): Promise<void> {
  const reply = await app.send('PUT /api/studio/projects/{id}', {
    apiKey: owner.apiKey,
    path: { id },
    body: { projectData },
  })
  if (reply.status !== 200) throw new Error(`a version for a fixture: ${reply.text}`)
}

async function rendering(stage: Stage): Promise<string> {
  return ask(stage, await project(stage))
}

async function ask({ app, owner }: Stage, id: string): Promise<string> {
  const reply = await app.send('POST /api/studio/projects/{id}/render', {
    apiKey: owner.apiKey,
    path: { id },
    body: { format: 'png' },
  })
  if (reply.status !== 202) throw new Error(`a rendering for a fixture: ${reply.text}`)
  return reply.body.data._id
}

/** Waits for the end of a rendering. Not by requests, because each one advances the clock of recorded examples. */
async function ended({ app }: Stage, id: string): Promise<void> {
  const isOver = async () => {
    const row = await studioRenders.first(app.database, { id })
    return row !== undefined && row.finishedAt !== null
  }
  await waitFor(isOver, { what: 'the end of a rendering' })
}
