import { inWorkspace, make, newName, times, type Lists, type Rows, type Stage } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

const projectData = { schemaVersion: 1, pages: [{ width: 1080, height: 1080, background: '#1b1b2f', layers: [] }] }

export const rows: Rows = { studio_projects: project }

export const lists: Lists<typeof operations> = {
  listStudioProjects: times(project),
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
