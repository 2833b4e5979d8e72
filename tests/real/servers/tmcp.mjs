// A server on tmcp, which shares no code with the official SDKs: revisions up to 2025-06-18, and 2026-07-28, over stdio
// or streamable HTTP.

import { getRequestListener } from '@hono/node-server';
import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod';
import { HttpTransport } from '@tmcp/transport-http';
import { StdioTransport } from '@tmcp/transport-stdio';
import { McpServer } from 'tmcp';
import * as z from 'zod';

import { addTools, listen, options } from './tools.mjs';

const asked = options();
const server = new McpServer(
    { name: 'real-tmcp', version: '1.0.0' },
    { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } }
);
const registered = {
    registerTool: (name, { description, inputSchema }, handler) =>
        server.tool({ name, description, schema: inputSchema }, args => handler(args, server.ctx))
};
// Over stdio the library gives tools no signal to look at; the progress token it keeps to itself.
const request = ctx => ({
    signal: ctx.signal ?? new AbortController().signal,
    token: null,
    notify: async ({ params }) => server.progress(params.progress, params.total, params.message),
    ask: ({ message }) => server.elicitation(message, z.object({ name: z.string() }))
});
addTools(registered, z, request);

if (asked.http === undefined) {
    new StdioTransport(server).listen();
} else {
    const transport = new HttpTransport(server, { path: '/mcp' });
    listen(asked.http, getRequestListener(request => transport.respond(request)));
}
