CREATE TABLE sessions(id, cwd, repository, host_type, branch, summary, created_at, updated_at);
CREATE TABLE turns(session_id, turn_index, user_message, assistant_response, timestamp);
CREATE TABLE session_files(session_id, file_path, tool_name, turn_index);
INSERT INTO sessions(id,cwd,branch,created_at,updated_at) VALUES('s1','/home/ana/shop','main','2026-03-02 08:00:00','2026-03-02 08:20:00'),
 ('s2','','main','2026-03-02 08:00:00','2026-03-02 08:20:00'), ('9a','/home/ana/shop','main','2026-03-02 08:00:00','2026-03-02 08:20:00');
INSERT INTO turns(session_id,turn_index,user_message,assistant_response) VALUES('s1',0,'Bump the version','Done: 1.4.1'),('s1',1,'still wrong, use 1.5','Done: 1.5.0');
INSERT INTO session_files(session_id,file_path,tool_name) VALUES('s1','/home/ana/shop/pyproject.toml','edit');
