import { EXAMPLE } from '../../../core/example-ids.ts'
import { Conflict, NotFound, PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { MAX_JSON_MARKS } from '../../../tools/json-size.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { accepted, created, done, FILE, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf, Type } from '../../../core/schema.ts'
import { StorageLimit } from '../assets/index.ts'
import {
  MAX_PROJECT_BYTES,
  NewFromTemplate,
  NewProject,
  NewRender,
  ProjectEdit,
  ProjectPath,
  ProjectQuery,
  ProjectSummary,
  ProjectVersionPath,
  ProjectVersionQuery,
  ProjectVersionSummary,
  ProjectVersionView,
  ProjectView,
  RenderPath,
  RenderQuery,
  StudioRender,
  StudioTemplate,
  TemplatePath,
} from './schemas.ts'
import { previewOf } from './templates/catalog.ts'

const { studioProjectId, studioRenderId, workspaceId } = EXAMPLE
const PROJECT = { path: { id: studioProjectId } }
const DATA = {
  schemaVersion: 1,
  pages: [
    {
      width: 1080,
      height: 1080,
      background: '#1b1b2f',
      layers: [
        { kind: 'box', left: 60, top: 60, width: 960, height: 960, color: '#e43f5a', radius: 40 },
        {
          kind: 'text',
          left: 140,
          top: 380,
          width: 800,
          height: 320,
          text: 'We are live on Friday at noon.',
          fontSize: 96,
          fontWeight: 'bold',
          align: 'center',
          color: '#ffffff',
        },
      ],
    },
  ],
} as const
const RULES =
  'The kind of a layer decides which fields it needs and can have. An error has the JSON pointer of the field in its layer.'

export const listStudioProjects = operation({
  route: 'GET /api/studio/projects',
  summary: 'List studio projects',
  description: 'Newest first, without `projectData`.',
  access: 'studio:read',
  workspace: from.query('workspaceId'),
  query: ProjectQuery,
  returns: { 200: ListOf(ProjectSummary) },
  example: { query: { workspaceId, limit: 20 } },
  handle: async ({ query, studio }) =>
    list('Studio projects', await studio.projects.list(query.workspaceId, pageRequest(query))),
})

export const createStudioProject = operation({
  route: 'POST /api/studio/projects',
  summary: 'Create a studio project',
  description: `${RULES} A project has at most 5 MB, and a workspace at most 200 projects.`,
  access: 'studio:write',
  workspace: from.body('workspaceId'),
  turn: true,
  bodyLimit: MAX_PROJECT_BYTES,
  bodyMarks: MAX_JSON_MARKS,
  body: NewProject,
  returns: { 201: Envelope(ProjectView) },
  errors: [Conflict, ValidationFailed],
  example: { body: { workspaceId, name: 'Tour announcement', projectData: DATA } },
  handle: async ({ body, caller, studio, turn }) =>
    created('Studio project', await studio.projects.create(turn, caller.userId, body)),
})

export const getStudioProject = operation({
  route: 'GET /api/studio/projects/{id}',
  summary: 'Get a studio project',
  access: 'studio:read',
  workspace: owner('studio_projects'),
  path: ProjectPath,
  etag: true,
  returns: { 200: Envelope(ProjectView) },
  errors: [NotFound],
  example: PROJECT,
  handle: async ({ path, studio }) => ok('Studio project', await studio.projects.get(path.id)),
})

export const updateStudioProject = operation({
  route: 'PUT /api/studio/projects/{id}',
  summary: 'Save a studio project',
  description: `Makes a new version. The 20 newest ones are kept. Send \`If-Match\` so that editors do not replace each other's work unseen. ${RULES}`,
  access: 'studio:write',
  workspace: owner('studio_projects'),
  turn: true,
  path: ProjectPath,
  bodyLimit: MAX_PROJECT_BYTES,
  bodyMarks: MAX_JSON_MARKS,
  body: ProjectEdit,
  etag: true,
  returns: { 200: Envelope(ProjectView) },
  errors: [NotFound, PreconditionFailed, ValidationFailed],
  example: { ...PROJECT, body: { name: 'Tour announcement', projectData: DATA } },
  handle: async ({ body, caller: { userId }, ifMatch, path, studio, turn }) =>
    ok('Studio project saved', await studio.projects.update(turn, path.id, body, { ifMatch, userId })),
})

export const deleteStudioProject = operation({
  route: 'DELETE /api/studio/projects/{id}',
  summary: 'Delete a studio project with its versions',
  access: 'studio:write',
  workspace: owner('studio_projects'),
  turn: true,
  path: ProjectPath,
  returns: { 200: Done },
  errors: [NotFound, PreconditionFailed],
  example: PROJECT,
  handle: async ({ ifMatch, path, studio, turn }) => {
    await studio.projects.remove(turn, path.id, ifMatch)
    return done('Studio project deleted')
  },
})

export const listStudioVersions = operation({
  route: 'GET /api/studio/projects/{id}/versions',
  summary: 'List the versions of a studio project',
  description: 'The 20 newest ones, newest first, without `projectData`. The first one is the project as it is.',
  access: 'studio:read',
  workspace: owner('studio_projects'),
  path: ProjectPath,
  query: ProjectVersionQuery,
  returns: { 200: ListOf(ProjectVersionSummary) },
  errors: [NotFound],
  example: PROJECT,
  handle: async ({ path, query, studio }) =>
    list('Versions', await studio.projects.versions(path.id, pageRequest(query))),
})

export const getStudioVersion = operation({
  route: 'GET /api/studio/projects/{id}/versions/{version}',
  summary: 'Get a version of a studio project',
  description: 'To restore it, save its `projectData` with PUT /api/studio/projects/{id}.',
  access: 'studio:read',
  workspace: owner('studio_projects'),
  path: ProjectVersionPath,
  returns: { 200: Envelope(ProjectVersionView) },
  errors: [NotFound],
  example: { path: { id: studioProjectId, version: '1' } },
  handle: async ({ path, studio }) => ok('Version', await studio.projects.version(path.id, path.version)),
})

const RENDER = { path: { id: studioRenderId } }

export const renderStudioProject = operation({
  route: 'POST /api/studio/projects/{id}/render',
  summary: 'Render a studio project to pictures or a video',
  description:
    'Renders the version that is the newest one now. Each page becomes an asset of the media library, or all of them one video with 30 frames a second, of at most 10 minutes, whose pages have the same size with even numbers. Pictures show a page at its start, without animations. The fonts are Noto Sans for Latin, Greek, Cyrillic, Devanagari, Arabic, Hebrew, Thai, Chinese, Japanese and Korean, and Twemoji for emoji. A character that none of them has makes the rendering fail. It costs no AI credits, and its assets use storage. A request with the same settings returns the rendering that has not ended. A rendering takes at most 30 minutes. A workspace has at most 50 renderings that have not ended, and the 100 newest ones of a project are kept.',
  access: 'studio:write',
  workspace: owner('studio_projects'),
  turn: true,
  path: ProjectPath,
  body: NewRender,
  returns: { 202: Envelope(StudioRender) },
  errors: [NotFound, Conflict, PlanLimit, ValidationFailed, StorageLimit],
  example: { ...PROJECT, body: { format: 'png', pageNumbers: [1] } },
  handle: async ({ body, caller, path, studio, turn }) =>
    accepted('Rendering requested', await studio.renders.create(turn, path.id, caller.userId, body)),
})

export const listStudioRenders = operation({
  route: 'GET /api/studio/projects/{id}/renders',
  summary: 'List the renderings of a studio project',
  description: 'Newest first.',
  access: 'studio:read',
  workspace: owner('studio_projects'),
  path: ProjectPath,
  query: RenderQuery,
  returns: { 200: ListOf(StudioRender) },
  errors: [NotFound],
  example: PROJECT,
  handle: async ({ path, query, studio }) => list('Renderings', await studio.renders.list(path.id, pageRequest(query))),
})

export const getStudioRender = operation({
  route: 'GET /api/studio/renders/{id}',
  summary: 'Get a rendering of a studio project',
  access: 'studio:read',
  workspace: owner('studio_renders'),
  path: RenderPath,
  returns: { 200: Envelope(StudioRender) },
  errors: [NotFound],
  example: RENDER,
  handle: async ({ path, studio }) => ok('Rendering', await studio.renders.get(path.id)),
})

export const cancelStudioRender = operation({
  route: 'POST /api/studio/renders/{id}/cancel',
  summary: 'Cancel a rendering of a studio project',
  description: 'Work that is running stops within about two seconds.',
  access: 'studio:write',
  workspace: owner('studio_renders'),
  turn: true,
  path: RenderPath,
  returns: { 200: Envelope(StudioRender) },
  errors: [NotFound, Conflict],
  example: RENDER,
  handle: async ({ path, studio, turn }) => ok('Rendering cancelled', await studio.renders.cancel(turn, path.id)),
})

const TEMPLATE = { path: { templateKey: 'quote-card' } } as const

export const listStudioTemplates = operation({
  route: 'GET /api/studio/templates',
  summary: 'List studio templates',
  access: 'user',
  returns: { 200: Envelope(Type.Array(StudioTemplate)) },
  example: {},
  handle: ({ studio }) => ok('Templates', studio.templates.list()),
})

export const getStudioTemplatePreview = operation({
  route: 'GET /api/studio/templates/{templateKey}/preview',
  summary: 'Get the preview of a studio template',
  access: 'public',
  path: TemplatePath,
  returns: { 200: FILE },
  example: TEMPLATE,
  handle: ({ path }) => previewOf(path.templateKey),
})

export const createProjectFromTemplate = operation({
  route: 'POST /api/studio/templates/{templateKey}/projects',
  summary: 'Create a studio project from a template',
  description:
    'Creates a project that can be edited like any other. A video or audio file sets the length of the project, up to 10 minutes.',
  access: 'studio:write',
  workspace: from.body('workspaceId'),
  turn: true,
  path: TemplatePath,
  body: NewFromTemplate,
  returns: { 201: Envelope(ProjectView) },
  errors: [Conflict, ValidationFailed],
  example: {
    ...TEMPLATE,
    body: { workspaceId, name: 'Quote of the week', values: { text: 'Make it as simple as possible.', author: 'Ada' } },
  },
  handle: async ({ body, caller, path, studio, turn }) =>
    created('Studio project', await studio.projects.createFrom(turn, caller.userId, path.templateKey, body)),
})
